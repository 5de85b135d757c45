-- Settles one task.
-- Expects: awaiting, record, return_task.

-- Stores the *text* of a done task under the key *result* for *ms*; with 0 it stores none.
local function settle_done(step, id, record, ms, text, result)
  if ms > 0 then
    local attempts = record:match('^%d+:(%d+)') or '0'
    local stored = 'done:' .. attempts .. ':' .. string.format('%.0f', step.now_ms) .. ':' .. text
    redis.call('SET', result, stored, 'PX', ms)
  else
    redis.call('DEL', result)  -- that of an earlier task of this id
  end
  step.ended.done = step.ended.done + 1
  notify_awaiting(step.awaited, id)
end

local function settle_unfinished(step, released, id, task, verb, ms, reason)
  if redis.call('HEXISTS', step.bodies, id) == 0 then
    redis.call('HDEL', step.state, id)
  elseif verb == 'dead' then
    move_to_dead(step, id, task, reason)
  elseif verb == 'park' then
    park(step, id, task, ms, reason)
  elseif verb == 'release' then
    release(step, released, id, task, reason)
  else
    retry(step, id, task, ms, reason)
  end
end
