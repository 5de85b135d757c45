#!lua
-- queues/limit: limit how many tasks of a queue run at once, or start in a window of time.
--
-- KEYS[1]  HASH    settings  limit: concurrency, amount and window of the rate (ms); 0: no limit
-- KEYS[2]  ZSET    idle      channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[3]  HASH    even      ledger of even hours
-- KEYS[4]  HASH    odd       ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  concurrency  '': unchanged
-- ARGV[4]  string  rate      amount and window; '': unchanged
-- returns  int     1
-- include clock
-- include notify
-- include ledger

local settings, idle, concurrency, rate = KEYS[1], KEYS[2], ARGV[3], ARGV[4]
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  local before, rate_before = (redis.call('HGET', settings, 'limit') or '0 0 0'):match('^(%d+) (%d+ %d+)$')
  concurrency = concurrency == '' and before or concurrency
  rate = rate == '' and rate_before or rate
  if rate == '0 0' then
    redis.call('HDEL', settings, 'starts')
  end
  if concurrency == '0' and rate == '0 0' then
    redis.call('HDEL', settings, 'limit')
  else
    redis.call('HSET', settings, 'limit', concurrency .. ' ' .. rate)
  end
  notify_one(idle, now_ms)
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
