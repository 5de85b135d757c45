#!lua
-- cache/commit: store a value, if the caller still has its lease.
--
-- KEYS[1]  STRING  value    the value, see cache/keys.py
-- KEYS[2]  STRING  load     the lease
-- ARGV[1]  string  token    token of the lease
-- ARGV[2]  string  channel  channel of the callers that wait for the value
-- ARGV[3]  int     life_ms  how long the value is kept
-- ARGV[4]  string  content  the value without its first 8 bytes, the time when it is stored
-- returns  int     1: stored, 0: refused, because the lease was lost
-- include clock

local value, load, token, channel = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if (redis.call('GET', load) or ''):match('^[^|]*') ~= token then
  return 0
end
redis.call('SET', value, struct.pack('>I8', (clock())) .. ARGV[4], 'PX', ARGV[3])
redis.call('DEL', load)
redis.pcall('SPUBLISH', channel, '')
return 1
