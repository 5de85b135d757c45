#!lua flags=allow-oom
-- core/marker: a write that leaves nothing behind (see core/transport/barrier.py).
--
-- KEYS[1]  STRING  marker  deleted again when the script ends
-- returns  int     always 1
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
return 1
