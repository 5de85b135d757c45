-- The state of a lock or semaphore: a hash.
-- Needs the parts: stored.
--
-- Fast path: a client that takes a permit while no other client holds one or waits is stored only in
-- this hash: its name in the field `uncontended`, the end of its lease in `ends_ms`. When it releases
-- the permit, `uncontended` becomes empty: there is no client at all.
-- While the field exists, the keys of holders, waiters and the ledger are empty. So a script calls
-- `end_uncontended` before it writes to one of them: this moves the holder to `holders`.

local KEPT_MS = 7 * 86400 * 1000  -- Keys of an unused lock expire after a week.
local HOUR_US = 3600000000
local MAX_LIMIT = 1000000
local LAST_FENCE = 2 ^ 53 - 2 ^ 40  -- largest fence; well below 2^53, above which doubles skip integers

-- Returns the stored limit (nil: not set), fence (0: none) and `uncontended`. *known* are these values if they were read
-- before.
local function read_state(state, known)
  known = known or redis.call('HMGET', state, 'limit', 'fence', 'uncontended')
  local limit = known[1] and whole(known[1], 1, MAX_LIMIT, 'limit', state) or nil
  local fence = known[2] and whole(known[2], 0, LAST_FENCE, 'fence', state) or 0
  return limit, fence, known[3]
end

-- Returns a fence above the stored one, and at least the server's time in microseconds: so it is higher
-- than all earlier ones even if the server has lost the stored one.
local function next_fence(fence, now_us)
  return math.max(fence + 1, now_us)
end

-- Stores limit, fence and further fields. *last_fence* is the fence stored before. Returns the new fence
-- as text.
local function write_state(state, limit, fence, last_fence, ...)
  redis.call('HSET', state, 'fence', fence, 'limit', limit, ...)
  if math.floor(fence / HOUR_US) ~= math.floor(last_fence / HOUR_US) then
    redis.call('PEXPIRE', state, KEPT_MS)  -- Extending the lifetime once an hour is enough.
  end
  return string.format('%.0f', fence)
end
