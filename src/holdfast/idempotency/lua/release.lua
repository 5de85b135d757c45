#!lua flags=allow-oom
-- idempotency/release: free the key of a call that has no answer, and notify those that wait for it.
--
-- KEYS[1]  HASH    call     token, fingerprint and answer, see idempotency/keys.py
-- ARGV[1]  int     token    identifies the attempt
-- ARGV[2]  string  channel  channel of those that wait
-- returns  int     1: the key is free; 0: this attempt does not hold it

local token, channel = ARGV[1], ARGV[2]

local stored = redis.call('HMGET', KEYS[1], 'token', 'answer')
if stored[1] ~= token or stored[2] then
  return 0
end
redis.call('UNLINK', KEYS[1])
redis.pcall('SPUBLISH', channel, '')
return 1
