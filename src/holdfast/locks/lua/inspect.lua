#!lua flags=no-writes
-- locks/inspect: return the holders and the waiters.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- returns  array   1: limit; '': not set
--                  2: fence; '': none
--                  3: id of a holder, ms until its lease ends, id, ms, …
--                  4: `id channel` of each waiter
-- include clock
-- include stored

local state, now_ms = KEYS[1], clock()
local LISTED = 1000  -- largest number of holders, and of waiters, in the reply
local known = redis.call('HMGET', state, 'limit', 'fence', 'uncontended', 'ends_ms')
local held = redis.call('ZRANGE', KEYS[2], now_ms, '+inf', 'BYSCORE', 'LIMIT', 0, LISTED, 'WITHSCORES')
local waiters = redis.call('ZRANGE', KEYS[3], 0, LISTED - 1)
local uncontended, ends_ms = known[3] or '', known[4]
if uncontended ~= '' and ends_ms and whole(ends_ms, 0, EXACT, 'ends_ms', state) > now_ms then
  held = {uncontended, ends_ms}
end
for i = 2, #held, 2 do
  held[i] = math.min(tonumber(held[i]) - now_ms, 2 ^ 53)
end
return {known[1] or '', known[2] or '', held, waiters}
