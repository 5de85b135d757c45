-- Finds one task in the keys of its queue.

-- Returns five values as an array:
--   its state: queued, limited (queued, and kept apart), delayed, running, dead, ended or unknown
--   an instant (ms): when it is due, its lease ends, or it died
--   its record
--   its envelope; of a task that has ended, its result
--   what the key `progress` has of it; '' if nothing
-- *queue* has the keys of the queue, and `result`, the key of the task's result.
local function find_task(queue, id, now_ms)
  local body = redis.call('HGET', queue.bodies, id)
  if not body then
    local ended = redis.call('GET', queue.result)
    return {ended and 'ended' or 'unknown', 0, '', ended or '', ''}
  end
  local record, progress = redis.call('HGET', queue.state, id) or '', redis.call('HGET', queue.progress, id) or ''
  local lease = redis.call('ZSCORE', queue.leases, id)
  if lease then
    return {'running', lease, record, body, progress}
  end
  local died = redis.call('ZSCORE', queue.dead, id)
  if died then
    return {'dead', died, record, body, progress}
  end
  for priority = 1, 3 do
    local at = redis.call('ZSCORE', queue.due[priority], id)
    if at then
      return {tonumber(at) > now_ms and 'delayed' or 'queued', at, record, body, progress}
    end
  end
  return {redis.call('ZSCORE', queue.limited, id) and 'limited' or 'queued', 0, record, body, progress}
end
