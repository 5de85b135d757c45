#!lua flags=no-writes
-- locks/inspect: who has a place, who waits.
--
-- KEYS[1]  HASH    state    limit, fence, sole, ends
-- KEYS[2]  ZSET    holders  ids, scored by when their place ends (ms); `?id` has not answered yet
-- KEYS[3]  ZSET    line     `id channel` of those who wait, scored by their ticket
-- returns  array   limit ('' unknown), fence ('' none), holders (id and ms left, by turns), waiters
-- include clock
-- include stored

local now_ms = clock()
local LISTED = 1000  -- of each kind, at most
local known = redis.call('HMGET', KEYS[1], 'limit', 'fence', 'sole', 'ends')
local held = redis.call('ZRANGE', KEYS[2], now_ms, '+inf', 'BYSCORE', 'LIMIT', 0, LISTED, 'WITHSCORES')
local waiters = redis.call('ZRANGE', KEYS[3], 0, LISTED - 1)
if known[3] and known[3] ~= '' and known[4] and whole(known[4], 0, EXACT, 'ends', KEYS[1]) > now_ms then
  held = {known[3], known[4]}
end
for i = 2, #held, 2 do
  held[i] = math.min(tonumber(held[i]) - now_ms, 2 ^ 53)
end
return {known[1] or '', known[2] or '', held, waiters}
