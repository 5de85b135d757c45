-- The holder of a file, and the end of its lease.
-- Expects: now_ms, now_us, sound, feed, places, meta.

local function keep_place(group, number, place)
  redis.call('HSET', places, group .. ':' .. text(number), cmsgpack.pack(place))
end

local function is_held_by(place, session, token)
  return place.session == session and place.token == tonumber(token)
end

local function hold(group, number, place, lease_ms)
  place.until_ms = math.max(place.until_ms, now_ms + (lease_ms or terms.lease_ms))
  keep_place(group, number, place)
end

-- Of the clock: a server that has forgotten its last steps gives no token a second time.
local function next_token()
  local token = math.max(decimal(redis.call('HGET', meta, 'token') or '0', meta, 'token') + 1, now_us)
  redis.call('HSET', meta, 'token', text(token))
  return token
end
