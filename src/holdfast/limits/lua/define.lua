#!lua
-- limits/define: store the limits of a limiter, for operators.
--
-- KEYS[1]  STRING  definition  the limits, see limits/keys.py
-- ARGV[1]  string  limits
-- ARGV[2]  int     kept        ms until the definition expires
-- returns  int     1

redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
