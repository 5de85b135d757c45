-- Where others are, or come.
-- Expects: sound, places.

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

-- Has *id* hold a place from now on. Returns the fence.
local function hold(places, id, lease_ms)
  redis.call('ZADD', places.holders, places.now_ms + lease_ms, id)
  redis.call('PEXPIRE', places.holders, KEPT_MS)
  return remember(places)
end

-- Puts *waiter* at the end of the line. Returns its ticket; the one that it has, if it waits already.
local function line_up(places, waiter)
  local line = places.line
  local last = redis.call('ZRANGE', line, 0, 0, 'REV', 'WITHSCORES')
  local ticket = string.format('%.0f', math.max((tonumber(last[2]) or 0) + 1, places.now_us))
  if redis.call('ZADD', line, 'NX', ticket, waiter) == 0 then
    ticket = redis.call('ZSCORE', line, waiter)
  end
  return ticket
end
