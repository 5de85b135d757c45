#!lua
-- idempotency/begin: begin a call under a key, or return what is stored under the key.
--
-- KEYS[1]  HASH    call         token, fingerprint and answer, see idempotency/keys.py
-- ARGV[1]  int     token        identifies this attempt; a repeated call has the same token
-- ARGV[2]  string  fingerprint  digest of what is asked
-- ARGV[3]  int     lease_ms     ms until the key is free again, unless the attempt is renewed or finishes
-- returns  array   1: begun, running, done, or conflict: the key has another fingerprint
--                  2: ms until the key is free; below 0: never
--                  3: the answer; '' unless done

local token, fingerprint, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

local stored = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'answer')
if not stored[1] then
  redis.call('UNLINK', KEYS[1])
  redis.call('HSET', KEYS[1], 'token', token, 'fingerprint', fingerprint)
  redis.call('PEXPIRE', KEYS[1], lease_ms)
  return {'begun', lease_ms, ''}
end
local left_ms = redis.call('PTTL', KEYS[1])
if stored[2] ~= fingerprint then
  return {'conflict', left_ms, ''}
end
if stored[3] then
  return {'done', left_ms, stored[3]}
end
return {stored[1] == token and 'begun' or 'running', left_ms, ''}
