-- Tasks whose worker vanished. Expects: record, bodies, state, leases, due, now_ms.

local RECLAIM_LIMIT = 64  -- taken back per step: the next worker goes on

-- Their old deadline is their place among the due tasks. How many were taken back.
local function reclaim(max_crashes)
  local expired = redis.call('ZRANGE', leases, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, RECLAIM_LIMIT,
    'WITHSCORES')
  for i = 1, #expired, 2 do
    local id, task = expired[i], parse(redis.call('HGET', state, expired[i]))
    redis.call('ZREM', leases, id)
    task.crashes = task.crashes + 1
    if redis.call('HEXISTS', bodies, id) == 0 then
      redis.call('HDEL', state, id)
    elseif task.crashes >= max_crashes then
      bury(id, task, 'crashed: ' .. task.crashes .. ' workers vanished while they ran it')
    else
      write(id, task, '')
      redis.call('ZADD', due[task.priority], expired[i + 1], id)
    end
  end
  return #expired / 2
end
