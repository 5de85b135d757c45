#!lua flags=no-writes
-- counters/samples: return all samples of one precision.
--
-- KEYS[1]  STRING  definition  `precisions keep`, see counters/keys.py
-- KEYS[2]  HASH    chunk_e  even chunk: number of a bucket -> count
-- KEYS[3]  HASH    chunk_o  odd chunk
-- returns  array   1: the definition; '': none is stored
--                  2: the server's time (s)
--                  3: the even chunk: number of a bucket, count, number, count, …
--                  4: the odd chunk, in the same form
-- include clock

local _, now_s = clock()
local definition = redis.call('GET', KEYS[1]) or ''
return {definition, now_s, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
