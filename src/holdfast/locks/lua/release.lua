#!lua flags=allow-oom
-- locks/release: release a permit, or leave the wait queue. Grant free permits to the first waiters.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id       id of the acquisition that ends
-- ARGV[2]  int     in_flight  1: a call with this id may be in flight, and must do nothing when it
--                  arrives. ARGV[2] to ARGV[4] may be left out, which means 0, '' and ''
-- ARGV[3]  string  channel  channel of the caller's process; '': none
-- ARGV[4]  string  waiter   member of the wait queue to remove; '': the acquisition is not queued
-- returns  array   1: result, 2: messages for waiters of the caller's process, then by result:
--                  'released'
--                  'lost': when the lease ended (ms), id of a later holder
--                  'gone': the server knows neither the holder nor its loss
--                  The string 'released' instead of an array: there is no other client

local state, holders, wait_queue = KEYS[1], KEYS[2], KEYS[3]
local id, in_flight, channel, waiter = ARGV[1], ARGV[2] == '1', ARGV[3] or '', ARGV[4] or ''
local known, only_holder
if channel == '' then
  only_holder = redis.call('HGET', state, 'uncontended')
else  -- The caller's process has waited, so others may wait now: read all that a hand-over needs.
  known = redis.call(
    'HMGET', state, 'limit', 'fence', 'uncontended', 'ends_ms', 'unconfirmed', 'unconfirmed_ms')
  only_holder = known[3]
end
local is_uncontended = only_holder == id
if is_uncontended then
  redis.call('HSET', state, 'uncontended', '')
  known = nil
end
if is_uncontended and not in_flight then  -- There is no other client. This is the usual case.
  return 'released'
end
local held = redis.call('ZREM', holders, id, '?' .. id) > 0 or is_uncontended
if waiter ~= '' then
  redis.call('ZREM', wait_queue, waiter)
end
-- The wait queue is counted twice. 2: there are waiters; 3: there are also holders; less: there is no waiter.
local others = redis.call('EXISTS', wait_queue, wait_queue, holders)
if held and not in_flight and others < 2 then
  return {'released', {}}
end
-- These parts are included here, because the usual cases do not need them, and defining their functions
-- takes time.
-- include clock
-- include stored
-- include state
-- include contention
-- include ledger
-- include hand_over
-- include endings

local now_ms, now_s, now_us = clock()
local limit, fence, uncontended = read_state(state, known)
local permits = {
  state = state, holders = holders, wait_queue = wait_queue, now_ms = now_ms, now_us = now_us,
  limit = limit, fence = fence, uncontended = uncontended, channel = channel,
  more = known and {known[4], known[5], known[6]}, free = others == 2 and limit or nil,
}
end_uncontended(permits)
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local reply = end_acquisition(permits, ledger, id, held, in_flight)
if reply then
  return reply
end
if limit then  -- No limit: the server has lost the state. The waiters notice that by themselves.
  hand_over(permits)
end
return {'released', permits.messages}
