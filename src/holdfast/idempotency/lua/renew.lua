#!lua flags=allow-oom
-- idempotency/renew: extend the leases of attempts that still run.
--
-- KEYS[1]  HASH    call      token, fingerprint and answer, see idempotency/keys.py
-- ARGV[1]  int     lease_ms  life of the lease from now (ms)
-- ARGV[2]  string  first of the attempts, two arguments each: an empty name, token
-- returns  array   name and token of each attempt that has lost its lease, or has ended

local lease_ms = tonumber(ARGV[1])
local FIRST = 2

local stored = redis.call('HMGET', KEYS[1], 'token', 'answer')
local lost = {}
for i = FIRST, #ARGV, 2 do
  if stored[1] == ARGV[i + 1] and not stored[2] then
    redis.call('PEXPIRE', KEYS[1], lease_ms)
  else
    lost[#lost + 1] = ARGV[i]
    lost[#lost + 1] = ARGV[i + 1]
  end
end
return lost
