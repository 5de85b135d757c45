#!lua flags=allow-oom
-- queues/purge: remove queued and delayed tasks, or dead ones: a limited number of them per call.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  LIST    ready_h  ids, the next one first
-- KEYS[4]  LIST    ready_m
-- KEYS[5]  LIST    ready_l
-- KEYS[6]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[7]  ZSET    due_m
-- KEYS[8]  ZSET    due_l
-- KEYS[9]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[10] HASH    awaited  id -> channels to notify when the task ends
-- KEYS[11] ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[12] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[13] ZSET    leases  running ids
-- KEYS[14] HASH    unique  key -> the task that holds it
-- KEYS[15] HASH    settings  the definitions of limits
-- KEYS[16] HASH    limit_keys  the limit keys in use
-- KEYS[17] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[18] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[19] HASH    progress  tasks with events, or with readers that wait for events
-- KEYS[20] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[21] HASH    steps   number:id -> how the step ended
-- KEYS[22] HASH    signals  number:id -> the value of the signal
-- KEYS[23] LIST    member_ends  how members of groups ended, for their groups
-- KEYS[24] ZSET    idle    channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[25] HASH    even    ledger of even hours
-- KEYS[26] HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  which   queued or dead
-- ARGV[4]  int     limit   tasks removed at most, 1 to 1000
-- returns  array   tasks removed, how many are left, and the ids of those removed that may have events
-- include clock
-- include notify
-- include ledger
-- include awaiting
-- include progress
-- include tombstones
-- include skip_tombstones
-- include unique
-- include member
-- include removed_member
-- include limit
-- include limit_key
-- include write_keys
-- include write_limits
-- include starts
-- include turns
-- include idle_keys
-- include keep_apart
-- include read_ahead
-- include admit
-- include admit_next
-- include freed_slots
-- include give_back
-- include step_index
-- include forget_steps

local bodies, state, dead, leases = KEYS[1], KEYS[2], KEYS[9], KEYS[13]
local awaited, tombstones, progress = awaited_in(KEYS[10]), tombstones_in(KEYS[12]), progress_in(KEYS[19])
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[25], KEYS[26], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+ %d+$')
if answer then
  local removed, left = answer:match('(%d+) (%d+)')
  return {tonumber(removed), tonumber(left), {}}
end

local TAKE_LIMIT = 1000  -- ids taken at most: many of them may be tombstones
local STEP_LIMIT = 5000  -- records of steps deleted by one call; the last task may exceed it
local limit, removed, taken, deleted, with_events, relays = tonumber(ARGV[4]), 0, 0, 0, {}, false
local step_keys = {step_index = KEYS[20], steps = KEYS[21], signals = KEYS[22]}
local most = redis.call('HLEN', KEYS[20]) > 0 and 5 or TAKE_LIMIT  -- taken at once: tasks may have many steps

local function room() return math.min(TAKE_LIMIT - taken, limit - removed, deleted < STEP_LIMIT and most or 0) end

local limits = redis.call('ZCARD', KEYS[17]) > 0 and with_writes({
  settings = KEYS[15], limit_keys = KEYS[16], admitted = KEYS[17], limited = KEYS[18],
  ready = {KEYS[3], KEYS[4], KEYS[5]}, due = {KEYS[6], KEYS[7], KEYS[8]}, tombstones = KEYS[12], now_ms = now_ms,
})

local function remove(id)
  local body = redis.call('HGET', bodies, id) or ''
  local unique = unique_of(body)
  local ends = ARGV[3] ~= 'dead'  -- a dead member stays dead for its group
  relays = ends and add_member_end(KEYS[23], body, redis.call('HGET', state, id) or '', 'cancelled') or relays
  if unique then release_key({unique = KEYS[14]}, unique, id) end
  redis.call('HDEL', state, id)
  deleted = deleted + (most < TAKE_LIMIT and forget_steps(step_keys, {id}) or 0)
  redis.call('ZREM', KEYS[11], id)
  notify_awaiting(awaited, id)
  with_events[#with_events + 1] = end_events(progress, id) and id or nil
  removed = removed + redis.call('HDEL', bodies, id)
end

-- Removes every *step*-th of the values in *found*, which are ids.
local function remove_all(found, step)
  for i = 1, #found, step do
    remove(found[i])
    if limits then give_back(limits, {found[i]}) end
  end
end

local function remove_from_set(key)
  for _ = 1, TAKE_LIMIT do
    local found = redis.call('ZPOPMIN', key, room())
    if #found == 0 then return end
    taken = taken + #found / 2
    remove_all(found, 2)
  end
end

local function remove_from_list(key)
  for _ = 1, TAKE_LIMIT do
    local ids = redis.call('LPOP', key, room())
    if not ids or #ids == 0 then return end
    taken = taken + #ids
    remove_all(without_tombstones(tombstones, ids), 1)
  end
end

local left
if ARGV[3] == 'dead' then
  remove_from_set(dead)
  left = redis.call('ZCARD', dead)
else
  remove_from_set(KEYS[18])
  for priority = 1, 3 do
    remove_from_set(KEYS[5 + priority])
    remove_from_list(KEYS[2 + priority])
  end
  -- If there is room for more, the queue is empty, whatever another program stored.
  left = room() > 0 and 0 or redis.call('HLEN', bodies) - redis.call('ZCARD', leases) - redis.call('ZCARD', dead)
end
if relays then notify_one(KEYS[24], now_ms) end
ledger_write(ledger, ARGV[1], ARGV[2], removed .. ' ' .. left)
return {removed, left, with_events}
