-- Claims a new task for an idle worker, so that the worker begins it without a step.
-- Needs the parts: notify, member.
--
-- The channel of a worker that accepts this ends with `@WORKER`. The worker gets the message `+TOKEN NOW_MS EVENTS
-- BYTES ID ENVELOPE` without the blank between ID and ENVELOPE; BYTES is the length of the id, and EVENTS is 1 if a
-- task of the queue has events. The worker renews the lease before the task starts. If it does not receive the
-- message, the lease ends early, and the task is taken back as that of a vanished worker.

local DIRECT_MS = 2000      -- life of the claim until its worker renews it
local DIRECT_BYTES = 65536  -- a larger envelope is not sent over the channel

-- Returns whether the new task *id* may start now: no other task is before it, and nothing limits its queue.
-- *settings*: see queues/enqueue_plain.
local function may_start_now(queue, settings, id, envelope, priority, now_ms)
  if settings.is_held or #envelope > DIRECT_BYTES or redis.call('HEXISTS', queue.state, id) == 1
    or redis.call('ZSCORE', queue.leases, id) then
    return false
  end
  for p = 1, priority do
    local first = redis.call('ZRANGE', queue.due[p], 0, 0, 'WITHSCORES')
    if redis.call('LLEN', queue.ready[p]) > 0 or (first[2] and tonumber(first[2]) <= now_ms) then
      return false
    end
  end
  return true
end

-- Writes a claim of the task *id* and sends it. Returns false if the worker has no subscription.
local function send_claim(queue, channel, worker, id, envelope, priority, now_ms, now_us)
  local token = string.format('%.0f', now_us)
  local has_events = redis.call('HLEN', queue.progress) > 0 and 1 or 0
  local head = string.format('+%s %.0f %d %d ', token, now_ms, has_events, #id)
  local note = channel .. ' ' .. worker .. (member_of(envelope) and ' member' or '')
  redis.call('ZADD', queue.leases, now_ms + DIRECT_MS, id)
  redis.call('HSET', queue.state, id, token .. ':1:0:' .. priority .. ':0:0:0:' .. note)
  local receivers = redis.pcall('SPUBLISH', channel, head .. id .. envelope)
  if type(receivers) == 'number' and receivers > 0 then
    return true
  end
  redis.call('ZREM', queue.leases, id)
  redis.call('HDEL', queue.state, id)
  return false
end

-- Gives the new task *id* to the first live idle worker, or queues it and notifies that worker.
local function start_or_queue(queue, settings, id, envelope, priority, now_ms, now_us)
  local may_start  -- not known until a worker is found that accepts claims
  local function offer(channel)
    local worker = channel:match(':notify:[^@]*@(%S+)$')
    if worker and may_start == nil then
      may_start = may_start_now(queue, settings, id, envelope, priority, now_ms)
    end
    return worker and may_start and send_claim(queue, channel, worker, id, envelope, priority, now_ms, now_us)
  end

  if not notify_one(queue.idle, now_ms, offer) then
    redis.call('RPUSH', queue.ready[priority], id)
  end
end
