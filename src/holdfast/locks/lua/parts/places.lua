-- What is known of the places of a unit.
-- Expects: sound.
--
-- A client that comes while no other is there stands in the state alone, as `sole`, and when its place
-- ends. An empty `sole` says that no client is there. The field is there only while no other client
-- holds or waits beside it and the ledger says nothing: a script that changes that calls
-- `move_sole_to_holders` first.
--
-- *places* has the keys `state`, `holders` and `line`, `now_ms` and `now_us`, the `channel` of the
-- calling process, and `told`: words for its waiters, which need no notification.

local KEPT_MS = 7 * 86400 * 1000  -- what is not used is forgotten after a week
local HOUR_US = 3600000000
local MOST_PLACES = 1000000
local LAST_FENCE = 2 ^ 53 - 2 ^ 40  -- far from where a double skips numbers, for it must rise

-- Adds `limit` (nil: it is not known), `fence` and `sole` as they are stored.
local function read_places(places)
  local state = places.state
  local known = redis.call('HMGET', state, 'limit', 'fence', 'sole')
  places.limit = known[1] and whole(known[1], 1, MOST_PLACES, 'limit', state) or nil
  places.fence = known[2] and whole(known[2], 0, LAST_FENCE, 'fence', state) or 0
  places.stored_fence, places.sole = places.fence, known[3]
end

-- Rises as long as the stored fence or the server's clock is there.
local function next_fence(places)
  local fence = math.max(places.fence + 1, places.now_us)
  places.fence = fence
  return fence
end

-- Stores the fence and the limit, and further fields of the state. Returns the fence.
local function remember(places, ...)
  local fence = places.fence
  redis.call('HSET', places.state, 'fence', fence, 'limit', places.limit, ...)
  if math.floor(fence / HOUR_US) ~= math.floor(places.stored_fence / HOUR_US) then
    redis.call('PEXPIRE', places.state, KEPT_MS)  -- once an hour will do
  end
  return string.format('%.0f', fence)
end
