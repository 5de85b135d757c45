#!lua
-- cache/abandon: end a lease without a value.
--
-- KEYS[1]  STRING  load     the lease
-- ARGV[1]  string  token    token of the lease
-- ARGV[2]  string  channel  channel of the callers that wait for the value
-- ARGV[3]  int     kept_ms  how long the reason is kept; 0: there is none, so another caller may compute the value
-- ARGV[4]  string  reason   why the function failed
-- returns  int     1: ended, 0: the lease was lost before

local load, token, channel = KEYS[1], ARGV[1], ARGV[2]
if (redis.call('GET', load) or ''):match('^[^|]*') ~= token then
  return 0
end
if tonumber(ARGV[3]) > 0 then
  redis.call('SET', load, '!' .. token .. '|' .. ARGV[4], 'PX', ARGV[3])
else
  redis.call('DEL', load)
end
redis.pcall('SPUBLISH', channel, '')
return 1
