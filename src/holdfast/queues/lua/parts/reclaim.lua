-- Tasks whose worker vanished.
-- Expects: record, unfinished, bodies, state, leases, due, channel, lease_ms, now_ms.

local RECLAIM_LIMIT = 64  -- taken back per step: the next worker goes on

-- Their old deadline is their place among the due tasks. How many were taken back.
local function reclaim(max_crashes)
  local expired = redis.call('ZRANGE', leases, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, RECLAIM_LIMIT,
    'WITHSCORES')
  local taken = 0
  for i = 1, #expired, 2 do
    local id, task = expired[i], parse(redis.call('HGET', state, expired[i]))
    if task.note:match('^%S+') == channel then
      -- Its worker asks right now: after an outage it has something to tell, and is no crash.
      redis.call('ZADD', leases, 'XX', now_ms + lease_ms, id)
    else
      redis.call('ZREM', leases, id)
      task.crashes, taken = task.crashes + 1, taken + 1
      if redis.call('HEXISTS', bodies, id) == 0 then
        redis.call('HDEL', state, id)
      elseif task.crashes >= max_crashes then
        bury(id, task, 'crashed: ' .. task.crashes .. ' workers vanished while they ran it')
      else
        put_back(id, task, 'crashed: its worker vanished')
        redis.call('ZADD', due[task.priority], expired[i + 1], id)
      end
    end
  end
  return taken
end
