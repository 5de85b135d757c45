-- Takes the next tasks from the due sets and the ready lists of a queue.
-- Needs the parts: skip_tombstones, record, claims, claim_all.

local SKIP_LIMIT = 1024  -- poison tasks skipped in one set; tasks behind them are not examined
local MOVE_LIMIT = 256   -- limited tasks that one step moves, so that it examines others too

local function take_due(step, claims, priority)
  local due, skipped = step.keys.due[priority], 0
  while step.has_due[priority] and room(step, claims) > 0 and skipped < SKIP_LIMIT and claims.moved < MOVE_LIMIT do
    local ids, found = {}, redis.call('ZRANGE', due, '-inf', step.now_ms, 'BYSCORE', 'LIMIT',
      skipped, room(step, claims), 'WITHSCORES')
    if #found == 0 then break end
    for i = 1, #found, 2 do
      ids[#ids + 1], claims.due_at[found[i]] = found[i], found[i + 1]
    end
    local left_out, gone = claim_all(step, claims, ids, priority), {}
    for _, id in ipairs(ids) do
      if claims.later[id] then
        redis.call('ZADD', due, claims.later[id], id)
      elseif left_out[id] then
        skipped, claims.looked_at = skipped + 1, claims.looked_at - 1  -- SKIP_LIMIT bounds them
      elseif not claims.placed[id] then
        gone[#gone + 1] = id
      end
    end
    if #gone > 0 then redis.call('ZREM', due, unpack(gone)) end
  end
end

local function take_ready(step, claims, priority)
  local ready = step.keys.ready[priority]
  while step.has_ready[priority] and room(step, claims) > 0 do
    local ids = redis.call('LPOP', ready, room(step, claims))
    if not ids or #ids == 0 then break end
    local tasks = without_tombstones(step.tombstones, ids)
    claims.looked_at = claims.looked_at + #ids - #tasks
    local left_out = claim_all(step, claims, tasks, priority)
    for _, id in ipairs(tasks) do
      if left_out[id] then  -- it was popped, and waits in the due set from now on
        add_due(step, id, priority, claims.later[id] or step.now_ms)
      end
    end
  end
end

-- Claims tasks until the step has what it wants, those with a higher priority first.
local function take_next(step, claims)
  for priority = 1, 3 do
    take_due(step, claims, priority)
    take_ready(step, claims, priority)
  end
end
