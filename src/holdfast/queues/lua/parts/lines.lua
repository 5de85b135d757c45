-- From which lines the next tasks come.
-- Expects: pass_over, grant, claim.

local PASS_LIMIT = 1024  -- suspects passed over in one line; behind more, no task is looked at

-- Claims what can be claimed of *ids*. Returns those that stay in line.
local function claim_all(step, claims, ids, priority)
  local staying = {}
  if #ids > 0 then
    claims.looked_at = claims.looked_at + #ids
    local bodies = redis.call('HMGET', step.bodies, unpack(ids))
    local records = redis.call('HMGET', step.state, unpack(ids))
    for i, id in ipairs(ids) do
      if not claim(step, claims, id, priority, bodies[i], records[i]) then
        staying[id] = true
      end
    end
  end
  return staying
end

-- Due tasks come before the others of their priority.
local function claim_due(step, claims, priority)
  local due, passed_over = step.due[priority], 0
  while room(step, claims) > 0 and passed_over < PASS_LIMIT do
    local ids, found = {}, redis.call('ZRANGE', due, '-inf', step.now_ms, 'BYSCORE', 'LIMIT',
      passed_over, room(step, claims), 'WITHSCORES')
    if #found == 0 then
      break
    end
    for i = 1, #found, 2 do
      ids[#ids + 1], claims.due_at[found[i]] = found[i], found[i + 1]
    end
    local staying = claim_all(step, claims, ids, priority)
    for _, id in ipairs(ids) do
      if staying[id] then
        passed_over, claims.looked_at = passed_over + 1, claims.looked_at - 1
      else
        redis.call('ZREM', due, id)
      end
    end
  end
end

local function claim_ready(step, claims, priority)
  local ready = step.ready[priority]
  while room(step, claims) > 0 do
    local ids = redis.call('LPOP', ready, room(step, claims))
    if not ids or #ids == 0 then
      break
    end
    local others = without_left_over(step.left_over, ids)
    claims.looked_at = claims.looked_at + #ids - #others
    local staying = claim_all(step, claims, others, priority)
    for _, id in ipairs(others) do
      if staying[id] then
        redis.call('ZADD', step.due[priority], step.now_ms, id)
      end
    end
  end
end
