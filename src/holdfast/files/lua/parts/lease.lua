-- The session that holds a file, and the end of its lease.
-- Needs the parts: stored, packed, feed.

local function save_position(feed, group, number, position)
  redis.call('HSET', feed.positions, group .. ':' .. text(number), cmsgpack.pack(position))
end

local function is_held_by(position, session, token)
  return position.session == session and position.token == tonumber(token)
end

local function extend_lease(feed, group, number, position, lease_ms)
  position.until_ms = math.max(position.until_ms, feed.now_ms + (lease_ms or feed.options.lease_ms))
  save_position(feed, group, number, position)
end

-- Returns a new token. It is at least the time in us, so that a server that lost its latest writes uses no token twice.
local function next_token(feed)
  local latest = redis.call('HGET', feed.meta, 'token') or '0'
  local token = math.max(whole(latest, 0, EXACT, 'token', feed.meta) + 1, feed.now_us)
  redis.call('HSET', feed.meta, 'token', text(token))
  return token
end
