-- Where others are, or come.
-- Expects: sound, places.
--
-- *places* has the keys `state`, `holders` and `line`; `now_ms` and `now_us`; `limit`, `fence` and
-- `sole` as they were read, and in `last_fence` the fence again; the `channel` of the calling process,
-- and `told`: words for its waiters, which need no notification.

local AT_ONCE = 64      -- places taken back or handed over in one call
local DOUBT_MS = 60000  -- how long unconfirmed grants are remembered

-- Has the client that was alone stand among the holders from now on. Adds `doubts`, the number of
-- grants that were not confirmed lately.
local function move_sole_to_holders(places)
  local state, sole = places.state, places.sole
  local more = redis.call('HMGET', state, 'ends', 'doubts', 'doubted')
  local doubted_ms = more[3] and whole(more[3], 0, EXACT, 'doubted', state) or 0
  local is_recent = more[2] and places.now_ms - doubted_ms < DOUBT_MS
  places.doubts = is_recent and whole(more[2], 0, EXACT, 'doubts', state) or 0
  if sole and sole ~= '' then
    whole(more[1], 0, EXACT, 'ends', state)
  end
  if sole then
    redis.call('HDEL', state, 'sole', 'ends')
  end
  if sole and sole ~= '' then
    redis.call('ZADD', places.holders, more[1], sole)
    redis.call('PEXPIRE', places.holders, KEPT_MS)
  end
end

local function raise_fence(places)
  places.fence = next_fence(places.fence, places.now_us)
  return places.fence
end

local function remember_fence(places)
  return remember(places.state, places.limit, places.fence, places.last_fence)
end
