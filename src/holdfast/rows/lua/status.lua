#!lua flags=no-writes
-- rows/status: return the status of one shard.
--
-- KEYS[1]  ZSET    due       scheduled rows, scored by when they are due (ms)
-- KEYS[2]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[3]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- returns  array   number of rows that are scheduled, due, being loaded, failing; ms by which the most overdue row is
--                  late; the failure of the source, '' if there is none
-- include clock
-- include numbers

local now_ms, _, now_us = clock()
local due, loads, failures = KEYS[1], KEYS[2], KEYS[3]
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local all = redis.call('HGET', failures, '') or ''
local latest = tonumber(redis.call('ZSCORE', loads, '') or nil) or 0
return {
  redis.call('ZCARD', due),
  redis.call('ZCOUNT', due, '-inf', text(now_ms)),
  redis.call('ZCOUNT', loads, text(now_us), '+inf') - (latest >= now_us and 1 or 0),
  redis.call('HLEN', failures) - (all ~= '' and 1 or 0),
  text(head[2] and math.max(0, math.min(now_ms - tonumber(head[2]), 2 ^ 53)) or 0),
  all,
}
