-- Hands free places over.
-- Expects: places, crowd.

local CLAIM_MS = 1000         -- how long a place waits for its successor to confirm
local SHORTEST_CLAIM_MS = 20
local CALLED_AT_ONCE = 1000   -- waiters, mostly dead ones: a crash may leave many

-- The id of the waiter if *word* reaches it; where this user may not publish (ACL), waiters will look
-- by themselves.
local function notify(places, waiter, word)
  local id, channel = waiter:match('^(%S+) (%S+)$')
  if channel and channel == places.channel then
    places.told[#places.told + 1] = id .. word
    return id
  end
  return channel and redis.pcall('SPUBLISH', channel, id .. word) ~= 0 and id
end

-- The last and the first in line go on at once where a step ends with free places; and in doubt they
-- see to the end of the claims.
local function notify_ends(places, look_ms)
  for n = -1, 0 do
    local waiter = redis.call('ZRANGE', places.line, n, n)[1]
    if waiter then
      notify(places, waiter, string.format(' 0 %.0f', look_ms))
    end
  end
end

-- Gives free places to those who wait longest; a waiter that cannot be notified leaves the line. An
-- unconfirmed grant blocks a place for at most 1 s. Each one shortens the next, so all of one minute
-- cost at most 2 s. Returns the first successor ('' there is none), and the set of all.
local function hand_over(places)
  local holders, now_ms = places.holders, places.now_ms
  local free, given = places.limit - redis.call('ZCARD', holders), 0
  local ends = now_ms + math.max(SHORTEST_CLAIM_MS, math.floor(CLAIM_MS * 0.45 ^ places.doubts))
  local successor, handed = '', {}
  for _ = 1, CALLED_AT_ONCE do
    local waiter = free > 0 and given < AT_ONCE and redis.call('ZPOPMIN', places.line)[1]
    if not waiter then
      break
    end
    local id = notify(places, waiter, string.format(' %.0f %.0f', raise_fence(places), ends))
    if id then
      redis.call('ZADD', holders, ends, '?' .. id)
      free, given = free - 1, given + 1
      handed[id], successor = true, successor == '' and id or successor
    end
  end
  if given > 0 then
    redis.call('PEXPIRE', holders, KEPT_MS)
    remember_fence(places)
  end
  if free > 0 then
    notify_ends(places, now_ms)
  elseif given > 0 and places.doubts > 0 then
    notify_ends(places, ends)
  end
  return successor, handed
end
