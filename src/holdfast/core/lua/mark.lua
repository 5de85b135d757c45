#!lua flags=allow-oom
-- core/mark: a write that leaves nothing behind (see core/connections/seal.py).
--
-- KEYS[1]  STRING  mark  gone again when the script ends
-- returns  int     always 1
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
return 1
