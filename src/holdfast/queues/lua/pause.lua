#!lua flags=allow-oom
-- queues/pause: pause or resume the claiming of tasks.
--
-- KEYS[1]  HASH    settings  paused, capacity
-- KEYS[2]  ZSET    idle      channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[3]  HASH    even      ledger of even hours
-- KEYS[4]  HASH    odd       ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  int     paused    1 or 0
-- returns  int     1 if that changed something
-- include clock
-- include notify
-- include ledger

local settings = KEYS[1]
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

local changed
if ARGV[3] == '1' then
  changed = redis.call('HSET', settings, 'paused', '1')
else
  changed = redis.call('HDEL', settings, 'paused')
  notify_one(KEYS[2], now_ms)
end
ledger_write(ledger, ARGV[1], ARGV[2], changed)
return changed
