-- Notifies the one process that has waited longest (see core/bell.py).

-- Dead waiters passed over in one call at most; what is left expires by itself.
local NOTIFY_TRIES = 32

-- *waiting* is a ZSET of channels, scored by when they are given up. A notification is a hint: a user
-- who may not publish (ACL) is no reason to stop half-way.
local function notify_one(waiting, now_ms)
  for _ = 1, NOTIFY_TRIES do
    local first = redis.call('ZPOPMIN', waiting)
    if not first[1] then
      return
    end
    if tonumber(first[2]) > now_ms and redis.pcall('SPUBLISH', first[1], '') ~= 0 then
      return
    end
  end
end
