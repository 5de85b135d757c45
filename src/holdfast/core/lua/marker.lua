#!lua flags=allow-oom
-- core/marker: write a key and delete it, as a marker for WAIT (see core/transport/barrier.py).
--
-- KEYS[1]  STRING  marker  exists only while the script runs
-- returns  int     always 1
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
return 1
