-- Takes tasks back when their lease has ended.
-- Needs the parts: task_name, record, crash, give_back.

local RECLAIM_LIMIT = 32  -- leases per step; later steps take back the rest

-- Takes back the tasks of workers that vanished. Such a task is due since the end of its lease. Returns how
-- many tasks were taken back. Also returns the id and the token of each claim of this worker with an
-- ended lease, one after the other. The worker renews those that it still runs (queues/renew), and
-- releases the others. The step does not extend these leases, because the worker may not know the claims: after a
-- rollback of the server, for example.
local function reclaim(step, channel)
  local expired = redis.call('ZRANGE', step.keys.leases, '-inf', step.now_ms, 'BYSCORE', 'LIMIT', 0,
    RECLAIM_LIMIT, 'WITHSCORES')
  local reclaimed, own, freed = 0, {}, {}
  for i = 1, #expired, 2 do
    local id, task = expired[i], parse_record(redis.call('HGET', step.keys.state, expired[i]))
    if task.note:match('^%S+') == channel then
      own[#own + 1] = id
      own[#own + 1] = string.format('%.0f', task.token)
    else
      redis.call('ZREM', step.keys.leases, id)
      reclaimed, freed[#freed + 1] = reclaimed + 1, id
      if redis.call('HEXISTS', step.keys.bodies, id) == 0 then  -- another program removed the task
        redis.call('HDEL', step.keys.state, id)
      else
        local last = task.crashes + 1 >= step.max_crashes
        local reason = last and task.crashes + 1 .. ' workers vanished while they ran it' or 'its worker vanished'
        if last then
          task.facts, task.worker = facts_of(redis.call('HGET', step.keys.bodies, id)), task.note:match('^%S+ (%S+)')
        end
        count_crash(step, id, task, expired[i + 1], 'crashed: ' .. reason)
      end
    end
  end
  if step.limits and reclaimed > 0 then
    give_back(step.limits, freed, true)
  end
  return reclaimed, own
end
