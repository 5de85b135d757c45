-- Tasks whose lease is over.
-- Expects: record, unfinished, bodies, state, leases, due, channel, out, now_ms.

local RECLAIM_LIMIT = 64  -- looked at per step: the next worker goes on

-- The id and the token of each claim of this worker whose lease is over, one after the other. A step
-- extends no claim: the worker may have forgotten some of them, after a rollback for example. The
-- worker renews those that it holds (queues/renew), and releases the others.
local questioned = {}

-- Their old deadline is their place among the due tasks. How many were taken back.
local function reclaim(max_crashes)
  local expired = redis.call('ZRANGE', leases, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, RECLAIM_LIMIT,
    'WITHSCORES')
  local taken = 0
  for i = 1, #expired, 2 do
    local id, task = expired[i], parse(redis.call('HGET', state, expired[i]))
    if task.note:match('^%S+') == channel then
      questioned[#questioned + 1] = id
      questioned[#questioned + 1] = string.format('%.0f', task.token)
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

-- The last element of the answer, if there is something to ask.
local function ask_about_claims()
  if #questioned > 0 then
    out[#out + 1] = questioned
  end
end
