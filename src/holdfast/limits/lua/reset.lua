#!lua flags=allow-oom
-- limits/reset: forget what passed one subject.
--
-- KEYS[1]  STRING  log  what passed, see limits/keys.py
-- returns  int     1: there was something, 0: there was nothing

return redis.call('DEL', KEYS[1])
