#!lua flags=no-writes
-- counters/definition: return the definition of a counter.
--
-- KEYS[1]  STRING  definition  `precisions keep`, see counters/keys.py
-- returns  string  the definition; nil: the counter has no samples

return redis.call('GET', KEYS[1])
