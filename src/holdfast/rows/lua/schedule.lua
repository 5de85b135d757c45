#!lua
-- rows/schedule: schedule rows. New rows are due at once; a new period makes a row due earlier, never later.
--
-- KEYS[1]  ZSET    due    scheduled rows, scored by when they are due (ms)
-- KEYS[2]  HASH    plan   scheduled rows -> every_ms:read_ms
-- KEYS[3]  HASH    even   ledger of even hours
-- KEYS[4]  HASH    odd    ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  channel  channel of the refreshers
-- ARGV[4]  string  first of pairs: id, every_ms
-- returns  int     number of rows that were not scheduled before
-- include clock
-- include ledger
-- include numbers

local now_ms, now_s = clock()
local due, plan, channel = KEYS[1], KEYS[2], ARGV[3]
local FIRST = 4
local UNUSED_TTL_S = 400 * 86400
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local earliest, new = tonumber(head[2]) or math.huge, 0
local notifies = false
for i = FIRST, #ARGV, 2 do
  local id, every = ARGV[i], ARGV[i + 1]
  local before, seen = (redis.call('HGET', plan, id) or ''):match('^(%d+):(%d+)$')
  local at_ms = before == every and math.huge or before and now_ms + tonumber(every) or now_ms
  local due_ms = tonumber(redis.call('ZSCORE', due, id) or nil)
  if not before or not due_ms then
    new, at_ms = new + 1, now_ms
  end
  if before ~= every then
    redis.call('HSET', plan, id, every .. ':' .. (seen or '0'))
  end
  if at_ms < (due_ms or math.huge) then
    redis.call('ZADD', due, text(at_ms), id)
    notifies = notifies or at_ms < earliest
  end
end
redis.call('EXPIRE', due, UNUSED_TTL_S)
redis.call('EXPIRE', plan, UNUSED_TTL_S)
ledger_write(ledger, ARGV[1], ARGV[2], new)
if notifies then  -- otherwise the refreshers wake up for an earlier row anyway
  redis.pcall('SPUBLISH', channel, '')
end
return new
