#!lua flags=no-writes
-- locks/rw_inspect: return the holders of a reader-writer lock, and the waiters.
--
-- KEYS[1]  HASH    state    fence
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    read_queue   `id channel` of the waiting readers, scored by their ticket
-- KEYS[4]  ZSET    write_queue  `id channel` of the waiting writers, scored by their ticket
-- returns  array   1: fence; '': none
--                  2: id of a holder, ms until its lease ends, id, ms, …
--                  3: `id channel` of each waiting reader
--                  4: `id channel` of each waiting writer
-- include clock

local now_ms = clock()
local LISTED = 1000  -- largest number of holders, and of waiters, in the reply
local held = redis.call('ZRANGE', KEYS[2], now_ms, '+inf', 'BYSCORE', 'LIMIT', 0, LISTED, 'WITHSCORES')
for i = 2, #held, 2 do
  held[i] = math.min(tonumber(held[i]) - now_ms, 2 ^ 53)
end
local readers = redis.call('ZRANGE', KEYS[3], 0, LISTED - 1)
local writers = redis.call('ZRANGE', KEYS[4], 0, LISTED - 1)
return {redis.call('HGET', KEYS[1], 'fence') or '', held, readers, writers}
