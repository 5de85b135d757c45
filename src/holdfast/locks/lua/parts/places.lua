-- What is known of the places of a unit.
-- Expects: state, now_us, whole.
--
-- Who comes where nobody is stands in the state alone, as `sole`, and when that place ends. Empty,
-- it says that nobody is there. It is there only while nobody holds or waits beside it and the
-- ledger says nothing: whoever changes that takes in the part `crowd` first.

local KEPT_MS = 7 * 86400 * 1000  -- what nobody uses is forgotten after a week
local HOUR_US = 3600000000
local MOST_PLACES = 1000000
local LAST_FENCE = 2 ^ 53 - 2 ^ 40  -- far from where a double skips numbers, for it must rise

local known = redis.call('HMGET', state, 'limit', 'fence', 'sole')
local limit = whole(known[1], 1, MOST_PLACES, state, 'limit')
local fence, sole = whole(known[2], 0, LAST_FENCE, state, 'fence') or 0, known[3]

-- Rises as long as the stored fence or the server's clock is there.
local function next_fence()
  fence = math.max(fence + 1, now_us)
  return fence
end

-- The fence, stored with other fields of the state.
local function remember(...)
  redis.call('HSET', state, 'fence', fence, 'limit', limit, ...)
  if math.floor(fence / HOUR_US) ~= math.floor((tonumber(known[2]) or 0) / HOUR_US) then
    redis.call('PEXPIRE', state, KEPT_MS)  -- once an hour will do
  end
  return string.format('%.0f', fence)
end
