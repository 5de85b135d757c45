#!lua flags=no-writes
-- counters/samples: all samples of one precision.
--
-- KEYS[1]  STRING  definition  precisions and how many samples are kept
-- KEYS[2]  HASH    chunk_e  the even one: number of a bucket -> count
-- KEYS[3]  HASH    chunk_o  the odd one
-- returns  array   definition ('' none), now (s), numbers and counts of one, of the other chunk
-- include clock

local _, now_s = clock()
local shape = redis.call('GET', KEYS[1]) or ''
return {shape, now_s, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
