#!lua flags=no-writes
-- rows/scheduled: the scheduled rows of a shard that are due first.
--
-- KEYS[1]  ZSET    due     scheduled rows, scored by when they are due (ms)
-- ARGV[1]  int     limit   of rows
-- returns  array   by turns ids and when they are due (ms)
return redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
