#!lua
-- queues/replay: queue dead tasks again, as if they were new.
--
-- KEYS[1]  ZSET    dead     ids, scored by when they died (ms)
-- KEYS[2]  HASH    bodies   id -> envelope
-- KEYS[3]  HASH    state    id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[4]  LIST    ready_h  ids, the next one first
-- KEYS[5]  LIST    ready_m
-- KEYS[6]  LIST    ready_l
-- KEYS[7]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[8]  ZSET    due_m
-- KEYS[9]  ZSET    due_l
-- KEYS[10] ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[11] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[12] HASH    even     ledger of even hours
-- KEYS[13] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  int     limit    at most this many, the oldest first; 0: only those that are named
-- ARGV[4]  string  first of the named ids
-- returns  int     tasks that were queued
-- include clock
-- include notify
-- include ledger
-- include tombstones

local tombstones = tombstones_in(KEYS[11])
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[12], KEYS[13], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

local FIRST = 4
local ids, limit = {}, tonumber(ARGV[3])
if limit > 0 then
  ids = redis.call('ZRANGE', KEYS[1], 0, limit - 1)
end
for i = FIRST, #ARGV do
  ids[#ids + 1] = ARGV[i]
end

local replayed = 0
for _, id in ipairs(ids) do
  if redis.call('ZREM', KEYS[1], id) == 1 then
    local token, priority = (redis.call('HGET', KEYS[3], id) or ''):match('^(%d+):%d+:%d+:([123]):')
    if redis.call('HEXISTS', KEYS[2], id) == 1 then
      -- The token stays, because the tokens of a task must grow with every claim.
      token, priority = token or '0', tonumber(priority) or 2
      redis.call('HSET', KEYS[3], id, token .. ':0:0:' .. priority .. ':0:0:0:')
      if has_tombstone(tombstones, id) then
        redis.call('ZADD', KEYS[6 + priority], now_ms, id)
      else
        redis.call('RPUSH', KEYS[3 + priority], id)
      end
      replayed = replayed + 1
    else
      redis.call('HDEL', KEYS[3], id)
    end
  end
end
if replayed > 0 then
  notify_one(KEYS[10], now_ms)
end
ledger_write(ledger, ARGV[1], ARGV[2], replayed)
return replayed
