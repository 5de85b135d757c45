-- The holder of a file, and the end of its lease.
-- Expects: sound, stored, feed.

local function keep_place(feed, group, number, place)
  redis.call('HSET', feed.places, group .. ':' .. text(number), cmsgpack.pack(place))
end

local function is_held_by(place, session, token)
  return place.session == session and place.token == tonumber(token)
end

local function hold(feed, group, number, place, lease_ms)
  place.until_ms = math.max(place.until_ms, feed.now_ms + (lease_ms or feed.terms.lease_ms))
  keep_place(feed, group, number, place)
end

-- Of the clock: a server that has forgotten its last steps gives no token a second time.
local function next_token(feed)
  local latest = redis.call('HGET', feed.meta, 'token') or '0'
  local token = math.max(whole(latest, 0, EXACT, 'token', feed.meta) + 1, feed.now_us)
  redis.call('HSET', feed.meta, 'token', text(token))
  return token
end
