#!lua flags=no-writes
-- rows/get: what the cache has of one row; short, for it is called most of all.
--
-- KEYS[1]  HASH    plan  scheduled rows -> every_ms:read_ms
-- KEYS[2]  STRING  row   read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  id
-- returns  array   now (ms), what is stored, what is planned; nil nothing
-- include clock

local now_ms = clock()
return {now_ms, redis.call('GET', KEYS[2]), redis.call('HGET', KEYS[1], ARGV[1])}
