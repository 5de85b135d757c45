#!lua flags=no-writes
-- rows/get: the cached copy of one row. Short, because it is called most often.
--
-- KEYS[1]  HASH    plan  scheduled rows -> every_ms:read_ms
-- KEYS[2]  STRING  row   read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  id
-- returns  array   now (ms), the row, its entry in `plan`; nil where nothing is stored
-- include clock

local now_ms = clock()
return {now_ms, redis.call('GET', KEYS[2]), redis.call('HGET', KEYS[1], ARGV[1])}
