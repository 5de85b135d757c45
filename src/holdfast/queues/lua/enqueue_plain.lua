#!lua
-- queues/enqueue_plain: store plain tasks and queue them, once: all of them, or none if there is no room. A single
-- task for an idle worker is claimed for that worker at once (see parts/direct_claim). Plain
-- tasks may start at once, do not expire, and have neither a limit nor a unique key. Most tasks are plain, so this
-- script contains only what they need: queues/enqueue, which stores any task, takes twice the time. Both
-- return the first answer again if the other one has stored the tasks.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  LIST    ready_h  ids, the next one first
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- KEYS[5]  ZSET    leases   running ids
-- KEYS[6]  ZSET    dead     dead ids
-- KEYS[7]  ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[8]  SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[9]  HASH    settings  capacity, layout, paused, limits
-- KEYS[10] HASH    state    id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[11] ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[12] ZSET    due_m
-- KEYS[13] ZSET    due_l
-- KEYS[14] HASH    progress  tasks with events, or with readers that wait for events
-- KEYS[15] HASH    even     ledger of even hours
-- KEYS[16] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  defined  the capacity that the producer gives, as in queues/enqueue
-- ARGV[4]  string  placement  as in queues/enqueue, except the mode `held` (see parts/placement)
-- ARGV[5]  string  priorities  one digit per task: 1 high, 2 medium, 3 low
-- ARGV[6]  string  first of the tasks, two arguments each: id and envelope
-- returns  string  as queues/enqueue; or 'special', with nothing stored: a task has the id of a cancelled one that is
--                  still in a ready list, so queues/enqueue has to store the tasks
-- include clock
-- include notify
-- include ledger
-- include definition
-- include capacity
-- include tombstones
-- include placement
-- include member
-- include direct_claim

local now_ms, now_s, now_us = clock()
local bodies, ready = KEYS[1], {KEYS[2], KEYS[3], KEYS[4]}
local defined, placement, priorities = ARGV[3], placement_of(ARGV[4]), ARGV[5]
local ledger = ledger_at(KEYS[15], KEYS[16], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[0-5]+%f[%z ]')
local FIRST = 6
if answer then
  if #answer:match('^%d+') ~= #priorities then
    ledger_damaged(ledger, ARGV[1])
  end
  return answer
end

local settings = redis.call('HMGET', KEYS[9], 'capacity', 'layout', 'paused', 'limited', 'limit', 'sweep')
if has_moved(KEYS[9], settings[2], placement) then
  return 'moved'
end
local capacity, verdict = capacity_of(KEYS[9], settings[1], defined)
if verdict == 'conflict' then
  return 'conflict ' .. capacity
end
local tombstones = tombstones_in(KEYS[8])
local digits, ids, envelopes, fields, queued, new = {}, {}, {}, {}, {{}, {}, {}}, {}
for i = FIRST, #ARGV, 2 do
  ids[#ids + 1], envelopes[#ids + 1] = ARGV[i], ARGV[i + 1]
  if has_tombstone(tombstones, ARGV[i]) then
    return 'special'
  end
end
if #ids == 1 and capacity == 0 then  -- by far the most frequent case
  digits[1] = redis.call('HSETNX', bodies, ids[1], envelopes[1])
  if digits[1] == 1 then
    local queue = {
      state = KEYS[10], leases = KEYS[5], ready = ready, due = {KEYS[11], KEYS[12], KEYS[13]}, idle = KEYS[7],
      progress = KEYS[14],
    }
    settings.is_held = settings[3] or settings[4] or settings[5] or settings[6]
    start_or_queue(queue, settings, ids[1], envelopes[1], tonumber(priorities), now_ms, now_us)
  end
else
  for n, known in ipairs(redis.call('HMGET', bodies, unpack(ids))) do
    local id = ids[n]
    digits[n] = (known or new[id]) and 0 or 1
    if digits[n] == 1 then
      local of = queued[tonumber(priorities:sub(n, n))]
      new[id], of[#of + 1] = true, id
      fields[#fields + 1], fields[#fields + 2] = id, envelopes[n]
    end
  end
  local room = placement.room
  local lacking = room - (#ids - #fields / 2)
  if capacity > 0 and room > 0 and waiting_tasks(bodies, KEYS[5], KEYS[6]) + lacking > capacity then
    return 'full ' .. capacity
  end
  if #fields > 0 then
    redis.call('HSET', bodies, unpack(fields))
  end
end
for priority = 1, 3 do
  if #queued[priority] > 0 then
    redis.call('RPUSH', ready[priority], unpack(queued[priority]))
    notify_one(KEYS[7], now_ms)
  end
end
answer = table.concat(digits)
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return verdict == 'kept' and 'kept ' .. capacity .. ' ' .. answer or answer
