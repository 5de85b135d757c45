#!lua flags=allow-oom
-- queues/leave: remove a worker that has stopped from the list.
--
-- KEYS[1]  ZSET    seen     workers, scored by their last heartbeat (ms)
-- KEYS[2]  HASH    workers  worker -> what it serves
-- ARGV[1]  string  worker
-- returns  int     1 if it was listed

redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
