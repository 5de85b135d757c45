-- Takes the next tasks from the due sets and the ready lists of a queue.
-- Expects: skip_tombstones, record, claims, claim.

local SKIP_LIMIT = 1024  -- poison tasks skipped in one set; tasks behind more are not examined

-- Claims what can be claimed of *ids*. Returns those that stay queued, as a set.
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

local function take_due(step, claims, priority)
  local due, skipped = step.due[priority], 0
  while step.has_due[priority] and room(step, claims) > 0 and skipped < SKIP_LIMIT do
    local ids, found = {}, redis.call('ZRANGE', due, '-inf', step.now_ms, 'BYSCORE', 'LIMIT',
      skipped, room(step, claims), 'WITHSCORES')
    if #found == 0 then
      break
    end
    for i = 1, #found, 2 do
      ids[#ids + 1], claims.due_at[found[i]] = found[i], found[i + 1]
    end
    local staying = claim_all(step, claims, ids, priority)
    for _, id in ipairs(ids) do
      if staying[id] then
        skipped, claims.looked_at = skipped + 1, claims.looked_at - 1
      else
        redis.call('ZREM', due, id)
      end
    end
  end
end

local function take_ready(step, claims, priority)
  local ready = step.ready[priority]
  while step.has_ready[priority] and room(step, claims) > 0 do
    local ids = redis.call('LPOP', ready, room(step, claims))
    if not ids or #ids == 0 then
      break
    end
    local tasks = without_tombstones(step.tombstones, ids)
    claims.looked_at = claims.looked_at + #ids - #tasks
    local staying = claim_all(step, claims, tasks, priority)
    for _, id in ipairs(tasks) do
      if staying[id] then
        add_due(step, id, priority, step.now_ms)
      end
    end
  end
end
