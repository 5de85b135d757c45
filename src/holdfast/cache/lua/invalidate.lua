#!lua flags=allow-oom
-- cache/invalidate: drop a value, and refuse the result of the current load.
--
-- KEYS[1]  STRING  value    the value, see cache/keys.py
-- KEYS[2]  STRING  load     the lease
-- ARGV[1]  string  channel  channel of the callers that wait for the value
-- returns  int     1: there was a value, 0: there was none

local channel = ARGV[1]
local dropped = redis.call('DEL', KEYS[1])
redis.call('DEL', KEYS[2])  -- A current load may have read data from before the change.
redis.pcall('SPUBLISH', channel, '')
return dropped
