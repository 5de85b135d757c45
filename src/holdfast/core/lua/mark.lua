#!lua flags=allow-oom
-- core/mark: write to what replicas and disk get, and leave nothing behind (see core/connections/seal.py).
--
-- KEYS[1]  STRING  nothing: gone again when the script ends
-- returns  int     1
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
return 1
