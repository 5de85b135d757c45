#!lua flags=allow-oom
-- locks/release: release a permit, or leave the wait queue; the first waiters get free permits.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id       of the acquisition that ends
-- ARGV[2]  int     in_flight  1: a call of this id may be in flight, and must do nothing when it
--                  arrives. This and the next ones may be left out: 0, '' and ''
-- ARGV[3]  string  channel  where the caller's process is notified; '': nowhere
-- ARGV[4]  string  waiter   its member of the wait queue; '': it does not wait
-- returns  array   verdict, messages for waiters of the caller's process, then for each verdict:
--                  released; lost: when the lease ended (ms), id of a holder; gone: nothing is known.
--                  Or a string: released, and there is no other client

local state, holders, wait_queue = KEYS[1], KEYS[2], KEYS[3]
local id, in_flight, channel, waiter = ARGV[1], ARGV[2] == '1', ARGV[3] or '', ARGV[4] or ''
local is_uncontended = redis.call('HGET', state, 'uncontended') == id
if is_uncontended then
  redis.call('HSET', state, 'uncontended', '')
end
if is_uncontended and not in_flight then  -- there is no other client: the usual case
  return 'released'
end
local held = redis.call('ZREM', holders, id, '?' .. id) > 0 or is_uncontended
if waiter ~= '' then
  redis.call('ZREM', wait_queue, waiter)
end
if held and not in_flight and redis.call('EXISTS', wait_queue) == 0 then  -- there is no waiter
  return {'released', {}}
end
-- The usual cases do not need these parts: defining their functions takes time.
-- include clock
-- include stored
-- include state
-- include contention
-- include ledger
-- include hand_over

local now_ms, now_s, now_us = clock()
local limit, fence, uncontended = read_state(state)
local permits = {
  state = state, holders = holders, wait_queue = wait_queue, now_ms = now_ms, now_us = now_us,
  limit = limit, fence = fence, uncontended = uncontended, channel = channel,
}
end_uncontended(permits)
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
if not held or in_flight then
  local answer = ledger_answer(ledger, id, '1')
  if in_flight and not answer then
    ledger_write(ledger, ended_entry(id), '1', id)
  end
  local since, successor = (answer or ''):match('^lost (%d+) (%S*)$')
  if since and not held then
    local first = redis.call('ZRANGE', holders, 0, 0)[1] or ''
    return {'lost', {}, since, successor ~= '' and successor or first}
  elseif not held then
    return {'gone', {}}
  end
end
if limit then  -- otherwise the server has lost the state: the waiters find out by themselves
  hand_over(permits)
end
return {'released', permits.messages}
