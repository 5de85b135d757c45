#!lua flags=allow-oom
-- rows/invalidate: drop the cached copies of changed rows, and refuse the results of current loads.
--
-- KEYS[1]  ZSET    due       scheduled rows, scored by when they are due (ms)
-- KEYS[2]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[3]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- KEYS[4]  STRING  row       first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  channel   channel of the refreshers
-- ARGV[2]  string  waiting   channel of waiting readers
-- ARGV[3]  string  first of the ids
-- returns  int     how many copies were dropped
-- include clock

local due, channel, waiting, now_ms = KEYS[1], ARGV[1], ARGV[2], clock()
local FIRST = 3
local FIRST_ROW = 4
local dropped, scheduled = 0, 0
for i = FIRST, #ARGV do
  local row = FIRST_ROW + (i - FIRST)
  dropped = dropped + redis.call('DEL', KEYS[row])
  redis.call('ZREM', KEYS[2], ARGV[i])  -- a current load may have read the old row
  redis.call('HDEL', KEYS[3], ARGV[i])
  if redis.call('ZSCORE', due, ARGV[i]) then
    redis.call('ZADD', due, 'XX', string.format('%.0f', now_ms), ARGV[i])
    scheduled = scheduled + 1
  end
end
if scheduled > 0 then
  redis.pcall('SPUBLISH', channel, '')
end
redis.pcall('SPUBLISH', waiting, '')
return dropped
