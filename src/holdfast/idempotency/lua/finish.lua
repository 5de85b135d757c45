#!lua
-- idempotency/finish: store the answer of a call, and notify those that wait for it.
--
-- KEYS[1]  HASH    call     token, fingerprint and answer, see idempotency/keys.py
-- ARGV[1]  int     token    identifies the attempt
-- ARGV[2]  string  answer
-- ARGV[3]  int     kept_ms  ms until the answer expires
-- ARGV[4]  string  channel  channel of those that wait
-- returns  int     1: stored, now or by an earlier send of the same call; 0: the lease has ended

local token, answer, kept_ms, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local stored = redis.call('HMGET', KEYS[1], 'token', 'answer')
if stored[1] ~= token then
  return 0
end
if not stored[2] then
  redis.call('HSET', KEYS[1], 'answer', answer)
  redis.call('PEXPIRE', KEYS[1], kept_ms)
  redis.pcall('SPUBLISH', channel, '')
end
return 1
