#!lua flags=allow-oom
-- rows/unschedule: stop refreshing rows, and drop their cached copies.
--
-- KEYS[1]  ZSET    due       scheduled rows, scored by when they are due (ms)
-- KEYS[2]  HASH    plan      scheduled rows -> every_ms:read_ms
-- KEYS[3]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[4]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- KEYS[5]  HASH    even      ledger of even hours
-- KEYS[6]  HASH    odd       ledger of odd hours
-- KEYS[7]  STRING  row       first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  string  writer    writer of the operation, for the ledger
-- ARGV[2]  int     number    number of the operation
-- ARGV[3]  string  channel   channel of waiting readers
-- ARGV[4]  string  first of the ids
-- returns  int     number of rows that were scheduled
-- include clock
-- include ledger

local _, now_s = clock()
local channel = ARGV[3]
local FIRST = 4
local FIRST_ROW = 7
local ledger = ledger_at(KEYS[5], KEYS[6], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end
local dropped = 0
for i = FIRST, #ARGV do
  local row = FIRST_ROW + (i - FIRST)
  dropped = dropped + redis.call('HDEL', KEYS[2], ARGV[i])
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('ZREM', KEYS[3], ARGV[i])  -- so that a current load cannot store the row
  redis.call('HDEL', KEYS[4], ARGV[i])
  redis.call('DEL', KEYS[row])
end
ledger_write(ledger, ARGV[1], ARGV[2], dropped)
redis.pcall('SPUBLISH', channel, '')
return dropped
