#!lua flags=allow-oom
-- idempotency/forget: free a key, whatever is stored under it, and notify those that wait for it.
--
-- KEYS[1]  HASH    call     token, fingerprint and answer, see idempotency/keys.py
-- ARGV[1]  string  channel  channel of those that wait
-- returns  int     1: a call was forgotten; 0: the key was free

local channel = ARGV[1]

if redis.call('UNLINK', KEYS[1]) == 0 then
  return 0
end
redis.pcall('SPUBLISH', channel, '')
return 1
