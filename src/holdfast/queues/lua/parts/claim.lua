-- The next tasks in line.
-- Expects: record, bodies, state, leases, due, ready, want, lease_ms, worker, out,
-- now_ms, now_us.

local claimed, claimed_bytes = {}, 0
local CHUNK = 8              -- ids taken from a line at once
local CLAIM_BYTES = 1048576  -- a reply must arrive within a timeout: after so much, no further chunk

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
      claimed_bytes = claimed_bytes + #body
      answer(id, task, body)
    else
      redis.call('HDEL', state, id)  -- cancelled while it waited
    end
  end
end

-- Due tasks before the others of their priority; in each line from the front.
local function claim_from(priority)
  while #claimed < want and claimed_bytes < CLAIM_BYTES do
    local limit = math.min(CHUNK, want - #claimed)
    local ids = redis.call('ZRANGE', due[priority], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, limit)
    if #ids == 0 then
      break
    end
    redis.call('ZREM', due[priority], unpack(ids))
    claim(ids, priority)
  end
  while #claimed < want and claimed_bytes < CLAIM_BYTES do
    local ids = redis.call('LPOP', ready[priority], math.min(CHUNK, want - #claimed))
    if not ids or #ids == 0 then
      break
    end
    claim(ids, priority)
  end
end
