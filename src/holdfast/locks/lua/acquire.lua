#!lua
-- locks/acquire: take a permit, or queue for one. A repeated call with the same id gets the same permit.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id        id of this acquisition
-- ARGV[2]  int     lease_ms  life of the lease without renewal (ms)
-- ARGV[3]  string  given     the limit that the caller gives; '': none. `on_conflict` may follow after a
--                  space: error or update; without it, a stored limit is kept
-- ARGV[4]  string  channel   channel of the caller's process; '': none. May be left out
-- ARGV[5]  string  ticket    ticket of the caller in the wait queue; '0': append it to the queue;
--                  '': do not queue. May be left out
-- returns  array   1: result, 2: messages for waiters of the caller's process, then by result:
--                  'granted': fence, and the limit if it is not the given one
--                  'queued': ticket, server's time (ms), when to call again (ms), id of a holder
--                  'busy': id of a holder; the caller does not queue
--                  'conflict': the stored limit, which differs from the given one
--                  'undefined': no limit is stored or given
--                  'ended': this acquisition was ended or lost before
--                  A string instead of an array: the fence of a grant without other clients
-- include clock
-- include stored
-- include state
-- include definition

local now_ms, now_s, now_us = clock()
local id, lease_ms, given = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, ticket = ARGV[4] or '', ARGV[5] or ''
local state, holders, wait_queue = KEYS[1], KEYS[2], KEYS[3]
local limit, last_fence, uncontended = read_state(state)

local verdict
if limit ~= given or not limit then
  limit, verdict = define(limit and string.format('%.0f', limit), ARGV[3])
  limit = tonumber(limit)
  if verdict == 'conflict' or not limit then return {verdict or 'undefined', {}, limit} end
end
local kept = verdict == 'kept' and limit or nil
-- include enqueue
-- If one other client holds the lock, only queue. This is the usual case of a lock that many clients want.
local queued = ticket == '0' and limit == 1 and not verdict and not uncontended
  and queue_behind(holders, wait_queue, KEYS[4], KEYS[5], id .. ' ' .. channel, now_ms, now_us)
if queued then return queued end
if uncontended == ''
    or not uncontended and redis.call('EXISTS', holders, wait_queue, KEYS[4], KEYS[5]) == 0 then
  -- There is no other client. This is the usual case.
  local fence, ends_ms = next_fence(last_fence, now_us), now_ms + lease_ms
  local granted = write_state(state, limit, fence, last_fence, 'uncontended', id, 'ends_ms', ends_ms)
  return kept and {'granted', {}, granted, kept} or granted
end
-- Include these parts here, because the usual case does not need them.
-- include contention
-- include ledger
-- include hand_over
-- include holders

local permits = {
  state = state, holders = holders, wait_queue = wait_queue, now_ms = now_ms, now_us = now_us,
  limit = limit, is_new = verdict == 'store', fence = last_fence, uncontended = uncontended, channel = channel,
}
local messages, lost = end_uncontended(permits), {}
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)

-- Grants the permit again to an acquisition that has it, or was just granted it, and calls again. This
-- confirms the grant. For a lock, the stored fence is that of the first grant. For a semaphore, the fence
-- of the first grant is not known, so the permit gets a new one.
local function grant_again()
  redis.call('ZREM', holders, '?' .. id)
  if limit > 1 or permits.fence == 0 then
    raise_fence(permits)
  end
  record_losses(ledger, lost, id)
  return {'granted', messages, hold(permits, id, lease_ms), kept}
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
return_to_queue(permits, waiter, ticket)
local successor, successors = hand_over(permits)
if successors[id] then return grant_again() end
local free = redis.call('ZCARD', holders) < limit
if free and redis.call('ZCARD', wait_queue) == 0 then
  raise_fence(permits)
  record_losses(ledger, lost, id)
  return {'granted', messages, hold(permits, id, lease_ms), kept}
end
record_losses(ledger, lost, successor)
local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')
local holder, ends_ms = (first[1] or ''):gsub('^%?', ''), first[2] or '0'
if ticket == '' then
  return {'busy', messages, holder}
end
ticket = ticket == '0' and enqueue(wait_queue, waiter, now_us) or ticket
redis.call('PEXPIRE', wait_queue, KEPT_MS)
local now = string.format('%.0f', now_ms)
-- If permits are still free, one call could not hand over all of them: let the caller call again now.
return {'queued', messages, ticket, now, free and now or ends_ms, holder}
