#!lua flags=allow-oom
-- locks/rw_release: leave a reader-writer lock, or its wait queue. Let the waiters enter that have their turn.
--
-- KEYS[1]  HASH    state    limit, fence, phase, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    read_queue   `id channel` of the waiting readers, scored by their ticket
-- KEYS[4]  ZSET    write_queue  `id channel` of the waiting writers, scored by their ticket
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id        as in release.lua; so are the other arguments
-- ARGV[2]  int     in_flight
-- ARGV[3]  string  channel
-- ARGV[4]  string  waiter
-- returns  array   as release.lua

local holders, read_queue, write_queue = KEYS[2], KEYS[3], KEYS[4]
local id, in_flight, channel, waiter = ARGV[1], ARGV[2] == '1', ARGV[3] or '', ARGV[4] or ''
local held = redis.call('ZREM', holders, id, '?' .. id) > 0
if waiter ~= '' then
  redis.call('ZREM', read_queue, waiter)
  redis.call('ZREM', write_queue, waiter)
end
if held and not in_flight and redis.call('EXISTS', read_queue, write_queue) == 0 then
  return {'released', {}}
end
-- include clock
-- include stored
-- include state
-- include contention
-- include ledger
-- include hand_over
-- include endings
-- include phases
-- include hand_over_in_phases

local now_ms, now_s, now_us = clock()
local limit, fence = read_state(KEYS[1])
local permits = {
  state = KEYS[1], holders = holders, read_queue = read_queue, write_queue = write_queue,
  phase = read_phase(KEYS[1]),
  now_ms = now_ms, now_us = now_us, limit = limit, fence = fence, channel = channel,
}
end_uncontended(permits)
local reply = end_acquisition(permits, ledger_at(KEYS[5], KEYS[6], now_s), id, held, in_flight)
if limit then  -- No limit: the server has lost the state. The waiters notice that by themselves.
  hand_over_in_phases(permits)  -- A writer that leaves the queue may let readers in.
end
reply = reply or {'released'}
reply[2] = permits.messages
return reply
