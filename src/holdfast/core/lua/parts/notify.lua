-- Notifications of waiting processes (see core/notifier.py).

local NOTIFY_TRIES = 32  -- One call skips at most so many dead waiters.

-- Notifies the first live waiter. *waiting* is a ZSET of channels, scored by when they expire (ms).
-- Uses pcall, because the script must not end half-way without permission to publish, or if *waiting* has another
-- type. Then waiters notice at their next look.
-- *offer* (or nil): called with the channel of a live waiter before the waiter is notified. If it returns true, it has
-- sent the waiter something else, and no waiter is notified. Returns whether *offer* has returned true.
local function notify_one(waiting, now_ms, offer)
  for _ = 1, NOTIFY_TRIES do
    local first = redis.pcall('ZPOPMIN', waiting)
    if not first[1] then
      return false
    end
    if tonumber(first[2]) > now_ms then
      if offer and offer(first[1]) then
        return true
      elseif redis.pcall('SPUBLISH', first[1], '') ~= 0 then
        return false
      end
    end
  end
  return false
end
