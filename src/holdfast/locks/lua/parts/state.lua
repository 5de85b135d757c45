-- The state of a lock or semaphore.
-- Expects: stored.
--
-- A client that takes a permit while there is no other client is stored as `uncontended` in the state,
-- with the end of its lease, and nowhere else. An empty `uncontended` means that there is no client.
-- The field exists only while no other client holds or waits and the ledger is empty: before a script
-- changes that, it calls `end_uncontended`.

local KEPT_MS = 7 * 86400 * 1000  -- an unused lock is forgotten after a week
local HOUR_US = 3600000000
local MAX_LIMIT = 1000000
local LAST_FENCE = 2 ^ 53 - 2 ^ 40  -- fences must rise: far from where a double skips integers

-- The limit (nil: not set), the fence and `uncontended`, as they are stored.
local function read_state(state)
  local known = redis.call('HMGET', state, 'limit', 'fence', 'uncontended')
  local limit = known[1] and whole(known[1], 1, MAX_LIMIT, 'limit', state) or nil
  local fence = known[2] and whole(known[2], 0, LAST_FENCE, 'fence', state) or 0
  return limit, fence, known[3]
end

-- A fence above the stored one. If the server has lost that, its clock makes the fence rise.
local function next_fence(fence, now_us)
  return math.max(fence + 1, now_us)
end

-- Stores the limit, the fence, which replaces *last_fence*, and more fields. Returns the fence as text.
local function write_state(state, limit, fence, last_fence, ...)
  redis.call('HSET', state, 'fence', fence, 'limit', limit, ...)
  if math.floor(fence / HOUR_US) ~= math.floor(last_fence / HOUR_US) then
    redis.call('PEXPIRE', state, KEPT_MS)  -- once an hour is enough
  end
  return string.format('%.0f', fence)
end
