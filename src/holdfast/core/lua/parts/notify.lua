-- Notifications of waiting processes (see core/notifier.py).

local NOTIFY_TRIES = 32  -- One call skips at most so many dead waiters.

-- Notifies the first live waiter. *waiting* is a ZSET of channels, scored by when they expire (ms).
-- Uses pcall for SPUBLISH, because without permission to publish the script must not end half-way.
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
