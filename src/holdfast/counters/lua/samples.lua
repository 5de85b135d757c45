#!lua flags=no-writes
-- counters/samples: return all samples of one precision.
--
-- KEYS[1]  STRING  definition  precisions and how many samples are kept
-- KEYS[2]  HASH    chunk_e  even chunk: number of a bucket -> count
-- KEYS[3]  HASH    chunk_o  odd chunk
-- returns  array   definition ('': none), now (s), then for each chunk its bucket numbers and counts
-- include clock

local _, now_s = clock()
local definition = redis.call('GET', KEYS[1]) or ''
return {definition, now_s, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
