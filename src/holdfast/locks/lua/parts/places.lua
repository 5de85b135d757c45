-- What is known of the places of a unit.
-- Expects: sound.
--
-- A client that comes while no other is there stands in the state alone, as `sole`, and when its place
-- ends. An empty `sole` says that no client is there. The field is there only while no other client
-- holds or waits beside it and the ledger says nothing: a script that changes that calls
-- `move_sole_to_holders` first.

local KEPT_MS = 7 * 86400 * 1000  -- what is not used is forgotten after a week
local HOUR_US = 3600000000
local MOST_PLACES = 1000000
local LAST_FENCE = 2 ^ 53 - 2 ^ 40  -- far from where a double skips numbers, for it must rise

-- The limit (nil: it is not known), the fence and `sole`, as they are stored.
local function read_places(state)
  local known = redis.call('HMGET', state, 'limit', 'fence', 'sole')
  local limit = known[1] and whole(known[1], 1, MOST_PLACES, 'limit', state) or nil
  local fence = known[2] and whole(known[2], 0, LAST_FENCE, 'fence', state) or 0
  return limit, fence, known[3]
end

-- Rises as long as the stored fence or the server's clock is there.
local function next_fence(fence, now_us)
  return math.max(fence + 1, now_us)
end

-- Stores the limit and the fence, before which *last_fence* was stored, and further fields of the state.
-- Returns the fence as text.
local function remember(state, limit, fence, last_fence, ...)
  redis.call('HSET', state, 'fence', fence, 'limit', limit, ...)
  if math.floor(fence / HOUR_US) ~= math.floor(last_fence / HOUR_US) then
    redis.call('PEXPIRE', state, KEPT_MS)  -- once an hour will do
  end
  return string.format('%.0f', fence)
end
