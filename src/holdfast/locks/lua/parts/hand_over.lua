-- Grants of free permits to waiters.
-- Needs the parts: state, contention.

local CLAIM_MS = 1000          -- longest claim: the time in which a waiter must confirm its grant
local SHORTEST_CLAIM_MS = 20
local NOTIFIED_AT_ONCE = 1000  -- One call notifies at most so many waiters. Most of them may be dead.

-- Sends *message* to *waiter*. Returns the id of the waiter if a subscriber received it. Without
-- permission to publish (ACL) it also returns the id, because the waiter checks by itself.
local function notify(permits, waiter, message)
  local id, channel = waiter:match('^(%S+) (%S+)$')
  if channel and channel == permits.channel then
    permits.messages[#permits.messages + 1] = id .. message
    return id
  end
  return channel and redis.pcall('SPUBLISH', channel, id .. message) ~= 0 and id
end

-- Lets the first and the last waiter call `acquire` again at *recheck_ms*: now if permits are free, or
-- when the claims of unconfirmed grants end.
local function notify_ends(permits, recheck_ms)
  for n = -1, 0 do
    local waiter = redis.call('ZRANGE', permits.wait_queue, n, n)[1]
    if waiter then
      notify(permits, waiter, string.format(' 0 %.0f', recheck_ms))
    end
  end
end

-- Grants free permits to the first waiters, and removes waiters that cannot be notified. An unconfirmed
-- grant blocks a permit until its claim ends, at most 1 s. Each unconfirmed grant shortens the claims of
-- the next ones, so that all of one minute block a permit for about 2 s in total. Returns the id of the
-- first waiter with a grant ('': none), and the set of the ids of all.
local function hand_over(permits)
  local holders, now_ms = permits.holders, permits.now_ms
  local free, granted = permits.free or permits.limit - redis.call('ZCARD', holders), 0
  local claim_ms = math.floor(CLAIM_MS * 0.45 ^ permits.unconfirmed)
  local ends_ms = now_ms + math.max(SHORTEST_CLAIM_MS, claim_ms)
  local successor, successors = '', {}
  for _ = 1, math.min(permits.most or NOTIFIED_AT_ONCE, NOTIFIED_AT_ONCE) do
    local waiter = free > 0 and granted < AT_ONCE and redis.call('ZPOPMIN', permits.wait_queue)[1]
    if not waiter then
      break
    end
    local id = notify(permits, waiter, string.format(' %.0f %.0f', raise_fence(permits), ends_ms))
    if id then
      redis.call('ZADD', holders, ends_ms, '?' .. id)
      free, granted = free - 1, granted + 1
      successors[id], successor = true, successor == '' and id or successor
    end
  end
  if granted > 0 then
    redis.call('PEXPIRE', holders, KEPT_MS)
    write_fence(permits)
  end
  if free > 0 then
    notify_ends(permits, now_ms)
  elseif granted > 0 and permits.unconfirmed > 0 then
    notify_ends(permits, ends_ms)
  end
  return successor, successors
end
