#!lua flags=no-writes
-- limits/definition: return the limits of a limiter.
--
-- KEYS[1]  STRING  definition  the limits, see limits/keys.py
-- returns  string  the limits; nil: no process has used the limiter for a month

return redis.call('GET', KEYS[1])
