#!lua flags=allow-oom
-- cache/renew: extend the lease of a value while one process computes it.
--
-- KEYS[1]  STRING  load      the lease
-- ARGV[1]  int     lease_ms  duration of the lease from now on
-- ARGV[2]  string  first of the leases, two arguments each: token, and a number that is only returned
-- returns  array   token and number of each lost lease: it ended, or the value was invalidated meanwhile

local holder = (redis.call('GET', KEYS[1]) or ''):match('^([^|]*)|')
local FIRST = 2
local lost = {}
for i = FIRST, #ARGV, 2 do
  if holder == ARGV[i] then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
  else
    lost[#lost + 1] = ARGV[i]
    lost[#lost + 1] = ARGV[i + 1]
  end
end
return lost
