#!lua flags=no-writes
-- rows/get: return the cached copy of one row. It is short, because it is called most often.
--
-- KEYS[1]  HASH    plan  scheduled rows -> every_ms:read_ms
-- KEYS[2]  STRING  row   read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  id    id of the row
-- returns  array   now (ms), the value of the row's key, its entry in `plan`; nil for a value that is not stored
-- include clock

local now_ms = clock()
return {now_ms, redis.call('GET', KEYS[2]), redis.call('HGET', KEYS[1], ARGV[1])}
