#!lua flags=no-writes
-- rows/scheduled: return the scheduled rows of a shard that are due first.
--
-- KEYS[1]  ZSET    due     scheduled rows, scored by when they are due (ms)
-- ARGV[1]  int     limit   maximum number of rows
-- returns  array   for each row: its id, when it is due (ms)
return redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
