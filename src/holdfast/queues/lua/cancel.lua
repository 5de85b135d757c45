#!lua flags=allow-oom
-- queues/cancel: remove a task that has not ended, and notify the worker that runs it.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  ZSET    leases  running ids, scored by when the lease ends (ms)
-- KEYS[4]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[5]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  HASH    awaited  id -> channels to notify when the task ends
-- KEYS[9]  ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[10] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[11] HASH    settings  history, limits
-- KEYS[12] LIST    history  the tasks that ended last
-- KEYS[13] HASH    unique  key -> the task that holds it
-- KEYS[14] HASH    limit_keys  the limit keys in use
-- KEYS[15] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[16] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[17] LIST    ready_h  ids, the next one first
-- KEYS[18] LIST    ready_m
-- KEYS[19] LIST    ready_l
-- KEYS[20] ZSET    idle    channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[21] HASH    progress  tasks with events, or with readers that wait for events
-- KEYS[22] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[23] HASH    steps   number:id -> how the step ended
-- KEYS[24] HASH    signals  number:id -> the value of the signal
-- KEYS[25] LIST    member_ends  how members of groups ended, for their groups
-- KEYS[26] HASH    even    ledger of even hours
-- KEYS[27] HASH    odd     ledger of odd hours
-- KEYS[28] STRING  result  of this task, once it has ended
-- KEYS[29] LIST    events  of this task
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  id
-- ARGV[4]  int     kept_ms  how long its status and its events are kept
-- returns  int     1 if this call cancelled it, 0 if it had ended before or is unknown
-- include clock
-- include notify
-- include ledger
-- include awaiting
-- include progress
-- include last_number
-- include history
-- include task_name
-- include unique
-- include member
-- include removed_member
-- include tombstones
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
-- include remove_limited
-- include step_index
-- include forget_steps

local bodies, state, leases, dead, result = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[28]
local due = {KEYS[5], KEYS[6], KEYS[7]}
local id = ARGV[3]
local now_ms, now_s = clock()

local ledger = ledger_at(KEYS[26], KEYS[27], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

-- Removes the id from where it is. A search in a ready list would be slow: there the id stays as a
-- tombstone, which is skipped when its turn comes. Returns the name of the worker that runs the task.
local function remove(record)
  if redis.call('ZREM', leases, id) == 1 then
    local token, channel, worker = record:match('^(%d+):%d+:%d+:[123]:%d+:%d+:%d+:(%S+) ?(%S*)')
    if channel then
      redis.pcall('SPUBLISH', channel, token .. ' ' .. id)
    end
    return worker or ''
  end
  for priority = 1, 3 do
    if redis.call('ZREM', due[priority], id) == 1 then
      return ''
    end
  end
  redis.call('SADD', KEYS[10], id)
  return ''
end

-- Removes a task that has a limit key from the tasks of the key, and gives its permit to the next task. Returns
-- whether the task was kept apart, because it had no permit: then its id is in no list and no due set.
local function remove_limit()
  local is_apart, admitted = remove_limited(with_writes({
    settings = KEYS[11], limit_keys = KEYS[14], admitted = KEYS[15], limited = KEYS[16],
    ready = {KEYS[17], KEYS[18], KEYS[19]}, due = due, tombstones = KEYS[10], now_ms = now_ms,
}), id)
  if admitted > 0 then
    notify_one(KEYS[20], now_ms)
  end
  return is_apart
end

-- Adds the cancelled task to the history.
local function note_end(body, attempts, crashes, worker)
  local settings = redis.pcall('HMGET', KEYS[11], 'history')
  local queue = {keys = {history = KEYS[12]}, history_limit = history_limit(settings[1]), now_ms = now_ms, records = {}}
  add_to_history(queue, id, 'cancelled', attempts, crashes, facts_of(body), worker, '')
  write_history(queue, true)
end

local cancelled = 0
local body = redis.call('HGET', bodies, id)
if body and not redis.call('ZSCORE', dead, id) then
  local record = redis.call('HGET', state, id) or ''
  local unique = unique_of(body)
  if unique then
    release_key({unique = KEYS[13]}, unique, id)
  end
  local is_apart = limit_of(body) and remove_limit()
  local worker = is_apart and '' or remove(record)
  redis.call('ZREM', KEYS[9], id)
  redis.call('HDEL', bodies, id)
  redis.call('HDEL', state, id)
  forget_steps({step_index = KEYS[22], steps = KEYS[23], signals = KEYS[24]}, {id})
  local attempts, crashes = record:match('^%d+:(%d+):(%d+):')
  attempts = attempts or '0'
  redis.call('SET', result, string.format('cancelled:%s:%.0f:', attempts, now_ms), 'PX', ARGV[4])
  note_end(body, attempts, crashes or '0', worker)
  if add_member_end(KEYS[25], body, record, 'cancelled') then
    notify_one(KEYS[20], now_ms)
  end
  notify_awaiting(awaited_in(KEYS[8]), id)
  end_events(progress_in(KEYS[21]), id, KEYS[29], tonumber(ARGV[4]))
  cancelled = 1
end
ledger_write(ledger, ARGV[1], ARGV[2], cancelled)
return cancelled
