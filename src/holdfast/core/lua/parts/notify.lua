-- Notifies the process that has waited longest (see core/notifier.py).

-- Dead waiters that one call skips at most. Further ones expire by themselves.
local NOTIFY_TRIES = 32

-- *waiting* is a ZSET of channels, scored by when they expire. A notification is a hint: a user that
-- may not publish (ACL) must not end the script half-way.
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
