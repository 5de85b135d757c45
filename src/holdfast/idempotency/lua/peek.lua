#!lua flags=no-writes
-- idempotency/peek: return what is stored under a key, without its answer.
--
-- KEYS[1]  HASH    call   token, fingerprint and answer, see idempotency/keys.py
-- returns  array   1: ms until the key is free; -2: it is free; -1: never
--                  2: the fingerprint; '' if it is free
--                  3: bytes of the answer; -1: there is none

local stored = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'answer')
if not stored[1] then
  return {-2, '', -1}
end
return {redis.call('PTTL', KEYS[1]), stored[2] or '', stored[3] and #stored[3] or -1}
