#!lua
-- queues/enqueue: store tasks and put them in line, once.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  LIST    ready_h  ids, the next one first
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- KEYS[5]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  ZSET    idle     bell channels of waiting workers
-- KEYS[9]  HASH    even     ledger of even hours
-- KEYS[10] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  first of the tasks, four arguments each:
--                  id, priority (1 high, 2 medium, 3 low),
--                  wait ('0': at once, '+ms' from now, '@ms' since 1970), envelope
-- returns  string  one digit per task: 1 stored, 0 its id was known already
-- include clock
-- include bell
-- include ledger

local ledger = ledger_at(KEYS[9], KEYS[10], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2])
if answer then
  return answer
end

local FIRST = 3
local digits, stored = {}, 0
for i = FIRST, #ARGV, 4 do
  local id, priority, wait = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local new = redis.call('HSETNX', KEYS[1], id, ARGV[i + 3])
  if new == 1 then
    if wait == '0' then
      redis.call('RPUSH', KEYS[1 + priority], id)
    else
      local base = wait:sub(1, 1) == '+' and math.ceil(now_us / 1000) or 0  -- never early
      redis.call('ZADD', KEYS[4 + priority], base + tonumber(wait:sub(2)), id)
    end
    stored = stored + 1
  end
  digits[#digits + 1] = new
end
if stored > 0 then
  ring(KEYS[8], now_ms)
end
answer = table.concat(digits)
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
