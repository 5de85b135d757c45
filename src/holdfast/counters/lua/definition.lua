#!lua flags=no-writes
-- counters/definition: what the counter keeps.
--
-- KEYS[1]  STRING  definition  precisions and how many samples are kept
-- returns  string  the definition; nil: nobody adds to the counter

return redis.call('GET', KEYS[1])
