#!lua flags=allow-oom
-- locks/release: give a place back, or leave the line; who waits longest gets the place.
--
-- KEYS[1]  HASH    state    limit, fence, sole, ends, doubts, doubted
-- KEYS[2]  ZSET    holders  ids, scored by when their place ends (ms); `?id` has not answered yet
-- KEYS[3]  ZSET    line     `id channel` of those who wait, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id       of the acquisition that ends
-- ARGV[2]  int     over     1: a call of this id may still be on its way, and must come too late
-- ARGV[3]  string  channel  where the caller's process is notified; '' nowhere
-- ARGV[4]  string  waiter   as it may stand in line; '' it does not
-- returns  array   verdict, words for waiters of the caller's process, then for each verdict:
--                  released; lost: since when (ms), id of who has the place; gone: nothing is known.
--                  Or a string: released, and nobody else is there.
--                  The last three arguments may be left out: 0, '' and ''

local state, holders, line = KEYS[1], KEYS[2], KEYS[3]
local id, over, channel, waiter = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4] or ''
local alone = redis.call('HGET', state, 'sole') == id
if alone then
  redis.call('HSET', state, 'sole', '')
end
if alone and over ~= '1' then  -- no other client is here: the usual case
  return 'released'
end
local held = redis.call('ZREM', holders, id, '?' .. id) > 0 or alone
if waiter ~= '' then
  redis.call('ZREM', line, waiter)
end
if held and over ~= '1' and redis.call('EXISTS', line) == 0 then  -- nobody waits
  return {'released', {}}
end
-- Parts that only the rest needs: to define their functions takes time, too.
-- include clock
-- include stored
-- include places
-- include crowd
-- include ledger
-- include over
-- include hand_over

local now_ms, now_s, now_us = clock()
local limit, fence, sole = read_places(state)
local places = {
  state = state, holders = holders, line = line, now_ms = now_ms, now_us = now_us, limit = limit,
  fence = fence, last_fence = fence, sole = sole, channel = channel, told = {},
}
move_sole_to_holders(places)
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
if not held or over == '1' then
  local answer = ledger_answer(ledger, id, '1')
  if over == '1' and not answer then
    ledger_write(ledger, over_entry(id), '1', id)
  end
  local since, successor = (answer or ''):match('^lost (%d+) (%S*)$')
  if since and not held then
    local first = redis.call('ZRANGE', holders, 0, 0)[1] or ''
    return {'lost', {}, since, successor ~= '' and successor or first}
  elseif not held then
    return {'gone', {}}
  end
end
if limit then  -- otherwise the server has lost it: the waiters know
  hand_over(places)
end
return {'released', places.told}
