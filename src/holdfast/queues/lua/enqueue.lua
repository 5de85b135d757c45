#!lua
-- queues/enqueue: store tasks and queue them, once: all of them, or none if there is no room.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  LIST    ready_h  ids, the next one first
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- KEYS[5]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  ZSET    leases   running ids
-- KEYS[9]  ZSET    dead     dead ids
-- KEYS[10] ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[11] ZSET    expiring  queued ids that must not start any more from then on (ms)
-- KEYS[12] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[13] HASH    settings  capacity
-- KEYS[14] HASH    even     ledger of even hours
-- KEYS[15] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  defined  the capacity that the producer gives; '' if it gives none
-- ARGV[4]  int     room     new tasks for which there must be room; 0 if an earlier step checked it
-- ARGV[5]  string  first of the tasks, five arguments each:
--                  id, priority (1 high, 2 medium, 3 low),
--                  wait ('0': at once, '+ms' from now, '@ms' since 1970),
--                  expires (written like wait; '0': never), envelope
-- returns  string  one digit per task: 1 stored, 0 its id is in the queue already; or, with nothing stored,
--                  'full CAPACITY' or 'conflict CAPACITY' (0: no limit)
-- include clock
-- include notify
-- include ledger
-- include capacity
-- include tombstones

local bodies, leases, dead, tombstones = KEYS[1], KEYS[8], KEYS[9], tombstones_in(KEYS[12])
local now_ms, now_s, now_us = clock()
local defined, room = ARGV[3], tonumber(ARGV[4])
local ledger = ledger_at(KEYS[14], KEYS[15], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[01]+$')
local FIRST = 5
if answer then
  if #answer ~= (#ARGV - FIRST + 1) / 5 then
    ledger_damaged(ledger, ARGV[1])
  end
  return answer
end

local function epoch_ms_of(time)
  local base = time:sub(1, 1) == '+' and math.ceil(now_us / 1000) or 0  -- never early
  return base + tonumber(time:sub(2))
end

local capacity, conflict = capacity_of(KEYS[13], defined)
if conflict then
  return 'conflict ' .. capacity
end

local ids, new, digits, room_for = {}, {}, {}, room
for i = FIRST, #ARGV, 5 do
  ids[#ids + 1] = ARGV[i]
end
local known = redis.call('HMGET', bodies, unpack(ids))
for n, id in ipairs(ids) do
  if known[n] or new[id] then
    digits[n], room_for = '0', room_for - 1
  else
    digits[n], new[id] = '1', true
  end
end
if capacity > 0 and room > 0 then
  local waiting = redis.call('HLEN', bodies) - redis.call('ZCARD', leases) - redis.call('ZCARD', dead)
  if waiting + room_for > capacity then
    return 'full ' .. capacity
  end
end

local stored, ready = {}, {{}, {}, {}}  -- what is written in one command each

local function queue_task(id, priority, wait, expires)
  if wait ~= '0' then
    redis.call('ZADD', KEYS[4 + priority], epoch_ms_of(wait), id)
  elseif has_tombstone(tombstones, id) then
    redis.call('ZADD', KEYS[4 + priority], now_ms, id)
  else
    table.insert(ready[priority], id)
  end
  if expires ~= '0' then
    redis.call('ZADD', KEYS[11], epoch_ms_of(expires), id)
  end
end

for n, id in ipairs(ids) do
  if digits[n] == '1' then
    local i = FIRST + 5 * (n - 1)
    queue_task(id, tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3])
    stored[#stored + 1], stored[#stored + 2] = id, ARGV[i + 4]
  end
end
if #stored > 0 then
  redis.call('HSET', bodies, unpack(stored))
  for priority = 1, 3 do
    if #ready[priority] > 0 then
      redis.call('RPUSH', KEYS[1 + priority], unpack(ready[priority]))
    end
  end
  notify_one(KEYS[10], now_ms)
end
answer = table.concat(digits)
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
