-- The next tasks in line.
-- Expects: record, bodies, state, leases, due, ready, want, lease_ms, worker, out,
-- now_ms, now_us.

local claimed = {}

local function answer(id, task, body)
  for _, part in ipairs({
    id, string.format('%.0f', task.token), task.attempts, task.crashes, body,
  }) do
    out[#out + 1] = part
  end
end

local function claim(ids, priority)
  for _, id in ipairs(ids) do
    local body = redis.call('HGET', bodies, id)
    if body then
      local task = parse(redis.call('HGET', state, id))
      -- The server's clock keeps tokens growing when an id is used again for another task.
      task.token = math.max(task.token + 1, now_us)
      task.attempts, task.priority = task.attempts + 1, priority
      write(id, task, worker)
      redis.call('ZADD', leases, now_ms + lease_ms, id)
      claimed[#claimed + 1] = {id, task.token}
      answer(id, task, body)
    else
      redis.call('HDEL', state, id)  -- cancelled while it waited
    end
  end
end

-- Due tasks before the others of their priority; in each line from the front.
local function claim_from(priority)
  while #claimed < want do
    local ids = redis.call('ZRANGE', due[priority], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, want - #claimed)
    if #ids == 0 then
      break
    end
    redis.call('ZREM', due[priority], unpack(ids))
    claim(ids, priority)
  end
  while #claimed < want do
    local ids = redis.call('LPOP', ready[priority], want - #claimed)
    if not ids or #ids == 0 then
      break
    end
    claim(ids, priority)
  end
end

-- What was claimed under this number before, as far as it is still this worker's.
local function repeat_claims(before)
  for _, pair in ipairs(before) do
    local id, token = pair[1], pair[2]
    local task = parse(redis.call('HGET', state, id))
    local body = redis.call('HGET', bodies, id)
    if body and task.token == token and redis.call('ZSCORE', leases, id) then
      redis.call('ZADD', leases, 'XX', 'GT', now_ms + lease_ms, id)
      answer(id, task, body)
    end
  end
end
