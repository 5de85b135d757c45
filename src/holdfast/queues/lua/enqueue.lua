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
-- KEYS[11] ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[12] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[13] HASH    settings  capacity, limits
-- KEYS[14] HASH    unique   key -> the task that holds it
-- KEYS[15] HASH    kept     key -> a task that is done and still holds it
-- KEYS[16] HASH    limit_keys  the limit keys in use
-- KEYS[17] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[18] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[19] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[20] HASH    even     ledger of even hours
-- KEYS[21] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  defined  the capacity that the producer gives; '' if it gives none. After a space, what to do if
--                  another capacity is stored: error, or update; nothing follows to keep the stored one
-- ARGV[4]  string  placement  new tasks for which there must be room, 0 if an earlier step checked it; and what
--                  the producer knows of the layout of the queue (see parts/placement)
-- ARGV[5]  string  first of the tasks, five arguments each:
--                  id, priority (1 high, 2 medium, 3 low),
--                  wait ('0': at once, '+ms' from now, '@ms' since 1970),
--                  expires (written like wait; '0': never), envelope
-- returns  string  one digit per task: 1 stored, 0 its id is in the queue already, 2 to 4 another task holds
--                  its key (see parts/enqueue_unique), 5 not stored, as this partition does not hold it (see
--                  parts/placement); then, in order, the ids of the tasks that hold the keys (digits 2 to 4).
--                  If another capacity is in effect than the given one, 'kept CAPACITY' comes
--                  first. Or, with nothing stored, 'full CAPACITY', 'conflict CAPACITY' (0: no limit), 'exists
--                  ID', or 'moved': the producer must read the layout
-- include clock
-- include notify
-- include ledger
-- include definition
-- include capacity
-- include tombstones
-- include limit
-- include limit_key
-- include write_keys
-- include write_limits
-- include key_of
-- include starts
-- include turns
-- include idle_keys
-- include keep_apart
-- include read_ahead
-- include admit
-- include enter
-- include add_tasks
-- include unique
-- include step_index
-- include key_holder
-- include enqueue_unique
-- include admit_next
-- include freed_slots
-- include give_back
-- include remove_limited
-- include waiting_task
-- include change_task
-- include placement
-- include is_held
-- include decide_all

local now_ms, now_s, now_us = clock()
local queue = with_writes({
  bodies = KEYS[1], ready = {KEYS[2], KEYS[3], KEYS[4]}, due = {KEYS[5], KEYS[6], KEYS[7]},
  leases = KEYS[8], dead = KEYS[9], idle = KEYS[10], expiring = KEYS[11],
  tombstones = tombstones_in(KEYS[12]), keys = {tombstones = KEYS[12]}, unique = KEYS[14], kept = KEYS[15],
  settings = KEYS[13], limit_keys = KEYS[16], admitted = KEYS[17], limited = KEYS[18],
  step_index = KEYS[19], now_ms = now_ms, now_us = now_us,
})
local placement = placement_of(ARGV[4])
local room = placement.room
local ledger = ledger_at(KEYS[20], KEYS[21], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[0-5]+%f[%z ]')
local FIRST = 5
if answer then
  if #answer:match('^%d+') ~= (#ARGV - FIRST + 1) / 5 then
    ledger_damaged(ledger, ARGV[1])
  end
  return answer
end

local settings = redis.call('HMGET', KEYS[13], 'capacity', 'layout')
if has_moved(KEYS[13], settings[2], placement) then
  return 'moved'
end
local capacity, verdict = capacity_of(KEYS[13], settings[1], ARGV[3])
if verdict == 'conflict' then
  return 'conflict ' .. capacity
end

local ids = {}
for i = FIRST, #ARGV, 5 do
  ids[#ids + 1] = ARGV[i]
end
local known = redis.call('HMGET', queue.bodies, unpack(ids))
local digits, wants, uniques, holders = decide_all(queue, placement, ids, known, ARGV, FIRST)
if not digits then
  return 'exists ' .. holders
end
if capacity > 0 and room > 0 and waiting_tasks(queue.bodies, queue.leases, queue.dead) + room + wants > capacity then
  return 'full ' .. capacity
end

local batch = task_batch()
for n, id in ipairs(ids) do
  if digits[n] == '1' then
    local i = FIRST + 5 * (n - 1)
    add_task(queue, batch, id, tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
  end
end
write_tasks(queue, batch)
local words = {table.concat(digits)}
for _, unique in ipairs(uniques) do
  local n, i = unique.n, FIRST + 5 * (unique.n - 1)
  words[#words + 1] = holders[n]
  if digits[n] == '1' then
    take_new_key(queue, unique, ids[n])
  elseif digits[n] ~= '2' then
    change_task(queue, holders[n], unique, tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
  end
end
if #uniques > 0 then
  delete_stale_keys(queue)
end
answer = table.concat(words, ' ')
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return verdict == 'kept' and 'kept ' .. capacity .. ' ' .. answer or answer
