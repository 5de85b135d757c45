#!lua
-- locks/acquire: take a permit, or queue for one; the same id again gets the same result again.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id        of this acquisition
-- ARGV[2]  int     lease_ms  life of the permit without renewal
-- ARGV[3]  string  given     the limit that the caller gives; '': none
-- ARGV[4]  string  channel   where the caller's process is notified; '': nowhere. May be left out
-- ARGV[5]  string  ticket    its ticket in the wait queue; '0': none yet, '': it does not wait. May be
--                  left out
-- returns  array   verdict, messages for waiters of the caller's process, then for each verdict:
--                  granted: fence; queued: ticket, now_ms, when to ask again (ms), id of a holder;
--                  busy: id of a holder; conflict: the limit; undefined; ended.
--                  Or a string, the fence: granted, and there is no other client
-- include clock
-- include stored
-- include state

local now_ms, now_s, now_us = clock()
local id, lease_ms, given = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, ticket = ARGV[4] or '', ARGV[5] or ''
local state, holders, wait_queue = KEYS[1], KEYS[2], KEYS[3]
local limit, last_fence, uncontended = read_state(state)

if limit and given and limit ~= given then
  return {'conflict', {}, limit}
end
limit = limit or given
if not limit then
  return {'undefined', {}}
end
if uncontended == ''
    or not uncontended and redis.call('EXISTS', holders, wait_queue, KEYS[4], KEYS[5]) == 0 then
  -- There is no other client: the usual case.
  local fence, ends_ms = next_fence(last_fence, now_us), now_ms + lease_ms
  return write_state(state, limit, fence, last_fence, 'uncontended', id, 'ends_ms', ends_ms)
end
-- The usual case does not need these parts: defining their functions takes time.
-- include contention
-- include ledger
-- include hand_over
-- include holders

local permits = {
  state = state, holders = holders, wait_queue = wait_queue, now_ms = now_ms, now_us = now_us,
  limit = limit, fence = last_fence, uncontended = uncontended, channel = channel,
}
local messages, lost = end_uncontended(permits), {}
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)

-- Confirms its permit. A semaphore stores only its latest fence, so the permit gets a new one.
local function grant_again()
  redis.call('ZREM', holders, '?' .. id)
  if limit > 1 or permits.fence == 0 then
    raise_fence(permits)
  end
  record_losses(ledger, lost, id)
  return {'granted', messages, hold(permits, id, lease_ms)}
end

if ledger_answer(ledger, id, '1') or ledger_answer(ledger, ended_entry(id), '1') == id then
  return {'ended', messages}
end
lost = take_back_expired(permits)
local held = redis.call('ZMSCORE', holders, id, '?' .. id)
if held[1] or held[2] then
  return grant_again()
end
local waiter = id .. ' ' .. channel
if (tonumber(ticket) or 0) > 0 and redis.call('ZADD', wait_queue, 'NX', ticket, waiter) == 1 then
  -- It was removed from the wait queue, but is alive: it needs a longer claim to confirm in time.
  permits.unconfirmed = math.max(0, permits.unconfirmed - 2)
  redis.call('HSET', state, 'unconfirmed', permits.unconfirmed)
end
local successor, successors = hand_over(permits)
if successors[id] then
  return grant_again()
end
local free = redis.call('ZCARD', holders) < limit
if free and redis.call('ZCARD', wait_queue) == 0 then
  raise_fence(permits)
  record_losses(ledger, lost, id)
  return {'granted', messages, hold(permits, id, lease_ms)}
end
record_losses(ledger, lost, successor)
local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')
local holder, ends_ms = (first[1] or ''):gsub('^%?', ''), first[2] or '0'
if ticket == '' then
  return {'busy', messages, holder}
end
if ticket == '0' then
  ticket = enqueue(permits, waiter)
end
redis.call('PEXPIRE', wait_queue, KEPT_MS)
local now = string.format('%.0f', now_ms)
-- If permits are free, there were more of them than one call hands over.
return {'queued', messages, ticket, now, free and now or ends_ms, holder}
