#!lua flags=allow-oom
-- queues/depart: a worker has ended in good order.
--
-- KEYS[1]  ZSET    seen    workers, scored by their last sign of life (ms)
-- KEYS[2]  HASH    crew    worker -> what it serves
-- ARGV[1]  string  worker
-- returns  int     1 when it was known

redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
