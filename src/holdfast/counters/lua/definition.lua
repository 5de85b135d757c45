#!lua flags=no-writes
-- counters/definition: return the definition of a counter.
--
-- KEYS[1]  STRING  definition  precisions and how many samples are kept
-- returns  string  the definition; nil: the server keeps no sample

return redis.call('GET', KEYS[1])
