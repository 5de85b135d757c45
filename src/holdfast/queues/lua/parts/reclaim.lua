-- Takes tasks back when their lease has ended.
-- Expects: record, return_task.

local RECLAIM_LIMIT = 64  -- leases per step: the next step of a worker continues

-- Takes back the tasks of workers that vanished. A task becomes due at the end of its lease. Returns
-- how many were taken back. Also returns the id and the token of each claim that this worker itself
-- let end, one after the other: the worker then renews what it runs (queues/renew) and releases the
-- rest. The step does not extend these leases, because the worker may not know the claims any more,
-- after a rollback of the server for example.
local function reclaim(step, channel, max_crashes)
  local ended = redis.call('ZRANGE', step.leases, '-inf', step.now_ms, 'BYSCORE', 'LIMIT', 0,
    RECLAIM_LIMIT, 'WITHSCORES')
  local taken, own = 0, {}
  for i = 1, #ended, 2 do
    local id, task = ended[i], parse_record(redis.call('HGET', step.state, ended[i]))
    if task.note:match('^%S+') == channel then
      own[#own + 1] = id
      own[#own + 1] = string.format('%.0f', task.token)
    else
      redis.call('ZREM', step.leases, id)
      task.crashes, taken = task.crashes + 1, taken + 1
      if redis.call('HEXISTS', step.bodies, id) == 0 then
        redis.call('HDEL', step.state, id)
      elseif task.crashes >= max_crashes then
        move_to_dead(step, id, task, 'crashed: ' .. task.crashes .. ' workers vanished while they ran it')
      else
        write_queued(step, id, task, 'crashed: its worker vanished')
        add_due(step, id, task.priority, ended[i + 1])
      end
    end
  end
  return taken, own
end
