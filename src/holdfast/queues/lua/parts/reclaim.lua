-- Tasks whose lease is over.
-- Expects: record, unfinished.

local RECLAIM_LIMIT = 64  -- looked at per step: the next worker goes on

-- Takes back what dead workers held; the old deadline of a task is its place among the due ones.
-- Returns how many were taken back, and the id and the token of each claim of this worker whose lease
-- is over, one after the other. A step extends no claim: the worker may have forgotten some of them,
-- after a rollback for example. The worker renews those that it holds (queues/renew), and releases
-- the others.
local function reclaim(step, channel, max_crashes)
  local expired = redis.call('ZRANGE', step.leases, '-inf', step.now_ms, 'BYSCORE', 'LIMIT', 0,
    RECLAIM_LIMIT, 'WITHSCORES')
  local taken, questioned = 0, {}
  for i = 1, #expired, 2 do
    local id, task = expired[i], parse_record(redis.call('HGET', step.state, expired[i]))
    if task.note:match('^%S+') == channel then
      questioned[#questioned + 1] = id
      questioned[#questioned + 1] = string.format('%.0f', task.token)
    else
      redis.call('ZREM', step.leases, id)
      task.crashes, taken = task.crashes + 1, taken + 1
      if redis.call('HEXISTS', step.bodies, id) == 0 then
        redis.call('HDEL', step.state, id)
      elseif task.crashes >= max_crashes then
        move_to_dead(step, id, task, 'crashed: ' .. task.crashes .. ' workers vanished while they ran it')
      else
        put_back(step, id, task, 'crashed: its worker vanished')
        redis.call('ZADD', step.due[task.priority], expired[i + 1], id)
      end
    end
  end
  return taken, questioned
end
