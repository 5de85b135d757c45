-- The limit of a whole queue: how many of its tasks run at once, and how many start in a window of time.
-- Needs the parts: starts, agenda.
--
-- The setting `limit` of the queue is `CONCURRENCY AMOUNT PER_MS`, with 0 for no limit. The setting `starts` is the
-- log of the last starts.

-- Returns how many tasks may start now, and when the rate allows more (ms; nil: now). *limit* and *log*
-- are the settings.
local function queue_room(keys, limit, log, now_ms)
  local concurrency, amount, per_ms = limit:match('^(%d+) (%d+) (%d+)$')
  local definition = {amount = tonumber(amount) or 0, per_ms = tonumber(per_ms) or 0}
  local room, at = math.huge, nil
  if (tonumber(concurrency) or 0) > 0 then
    room = math.max(0, concurrency - redis.call('ZCARD', keys.leases))
  end
  if definition.amount > 0 then
    local next_ms, left = next_start(log or '-', definition, now_ms)
    room, at = math.min(room, left), next_ms > now_ms and next_ms or nil
  end
  return room, at
end

-- Reduces what the step may claim to what the limit allows.
local function apply_queue_limit(step)
  local room = step.limit and queue_room(step.keys, step.limit, step.starts, step.now_ms) or step.want
  step.is_held = room < step.want
  step.want = math.min(step.want, room)
end

-- Returns whether the limit allows no more tasks of the queue to start now.
local function is_at_limit(step)
  return step.limit and queue_room(step.keys, step.limit, step.starts, step.now_ms) <= 0
end

-- Adds the claims of the step to the log of starts.
local function log_starts(step, count)
  local amount, per_ms = (step.limit or ''):match('^%d+ (%d+) (%d+)$')
  if count > 0 and (tonumber(amount) or 0) > 0 then
    local definition = {amount = tonumber(amount), per_ms = tonumber(per_ms)}
    step.starts = with_starts(step.starts or '-', definition, step.now_ms, count)
    redis.call('HSET', step.keys.settings, 'starts', step.starts)
  end
end

-- Returns the milliseconds until the limit may allow more: then the rate does, or a lease ends.
local function held_ms(step)
  local lease = first_in(step, step.keys.leases, false)
  local _, at = queue_room(step.keys, step.limit, step.starts, step.now_ms)
  if lease and (not at or lease < at) then
    at = lease
  end
  return at and math.max(0, at - step.now_ms) or -1
end
