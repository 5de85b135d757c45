#!lua flags=no-writes
-- rows/explain: return everything that the server stores about one row.
--
-- KEYS[1]  ZSET    due       scheduled rows, scored by when they are due (ms)
-- KEYS[2]  HASH    plan      scheduled rows -> every_ms:read_ms
-- KEYS[3]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[4]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- KEYS[5]  STRING  row       read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  id        id of the row
-- returns  array   now (ms), when the row is due (ms), its entry in `plan`, the token of its load, its failure, the
--                  failure of the source, the value of its key; '' for a value that is not stored
-- include clock

local id, now_ms = ARGV[1], clock()
return {
  string.format('%.0f', now_ms),
  redis.call('ZSCORE', KEYS[1], id) or '',
  redis.call('HGET', KEYS[2], id) or '',
  redis.call('ZSCORE', KEYS[3], id) or '',
  redis.call('HGET', KEYS[4], id) or '',
  redis.call('HGET', KEYS[4], '') or '',
  redis.call('GET', KEYS[5]) or '',
}
