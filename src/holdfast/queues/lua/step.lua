#!lua flags=allow-oom
-- queues/step: settle finished tasks, take back the tasks of vanished workers, claim the next tasks. A call
-- with the same number again returns the first reply again.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  HASH    state    id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  ZSET    leases   running ids, scored by when the lease ends (ms)
-- KEYS[4]  LIST    ready_h  ids, the next one first
-- KEYS[5]  LIST    ready_m
-- KEYS[6]  LIST    ready_l
-- KEYS[7]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[8]  ZSET    due_m
-- KEYS[9]  ZSET    due_l
-- KEYS[10] ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[11] ZSET    dead     ids, scored by when they died (ms)
-- KEYS[12] ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[13] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[14] HASH    awaited  id -> channels to notify when the task ends
-- KEYS[15] HASH    settings  paused, history, limits
-- KEYS[16] HASH    throughput  how many tasks ended, by minute
-- KEYS[17] LIST    history  the tasks that ended last
-- KEYS[18] HASH    unique   key -> the task that holds it
-- KEYS[19] HASH    kept     key -> a task that is done and still holds it
-- KEYS[20] HASH    limit_keys  the limit keys in use
-- KEYS[21] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[22] ZSET    limited   tasks that wait for a permit of their limit key
-- KEYS[23] HASH    progress  tasks with events, or with readers that wait for events
-- KEYS[24] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[25] HASH    steps    number:id -> how the step ended
-- KEYS[26] HASH    signals  number:id -> the value of the signal
-- KEYS[27] LIST    member_ends  how members of groups ended, for their groups
-- KEYS[28] HASH    even     ledger of even hours
-- KEYS[29] HASH    odd      ledger of odd hours
-- KEYS[30] STRING  result   the first of them: one for each task that is done; after `done_events` its events, too
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  channel      where this worker's process is notified; '' if the step only settles
-- ARGV[4]  string  worker       name of the worker, for people to read
-- ARGV[5]  int     want         tasks to claim at most; workers send 0 to 32
-- ARGV[6]  int     poison_limit  poison tasks among them at most: their next crash makes them dead
-- ARGV[7]  int     lease_ms     life of a claim that is not renewed
-- ARGV[8]  int     max_crashes  a task is dead when so many workers have vanished while they ran it
-- ARGV[9]  int     idle_ms      an idle worker that does not repeat its step is forgotten after so long
-- ARGV[10] string  first of the settled tasks, six arguments each:
--                  id, token, verb (done, done_events, retry, snooze, suspend, dead, crash, give_up, release, park,
--                  retry_key, dead_key), ms, text,
--                  facts (see parts/settle)
-- returns  array   wait_ms: ms until something is due here; 0: step again at once; -1: unknown
--                  left: tasks that are queued, delayed or running (see parts/agenda); -1: not counted
--                  accepted: one digit per settled task
--                  missing: stored tasks that are in no list or set, and will not run; -n: n ids without a task
--                  claims: id, token, attempt, crashes, snoozes and envelope of each
--                  ended: id and token of each claim of this worker with an ended lease (see parts/reclaim)
--                  any_events: 1 if a task of the queue has events, or readers that wait for them; otherwise 0
--                  member_ends: how many ends of members are to be relayed to their groups (see queues/relay_ends)
--                  now_ms: the time of the server
--                  was_idle: 1 if the worker was in the list of idle workers before this step; 0 if not, or if another
--                  script had taken it from the list to notify it, and in the reply to a repeated step
--                  stepped: ids of the claimed tasks that have stored steps
-- include clock
-- include notify
-- include ledger
-- include tombstones
-- include awaiting
-- include progress
-- include last_number
-- include history
-- include limit
-- include limit_key
-- include write_keys
-- include write_limits
-- include queue_settings
-- include read_queue
-- include task_name
-- include unique
-- include step_index
-- include key_holder
-- include member
-- include member_end
-- include own_key
-- include record
-- include key_of
-- include starts
-- include turns
-- include idle_keys
-- include keep_apart
-- include read_ahead
-- include admit
-- include admit_next
-- include enter
-- include freed_slots
-- include give_back
-- include pause_key
-- include return_task
-- include release
-- include waiting_signal
-- include suspend
-- include forget_steps
-- include crash
-- include settle_one
-- include settle
-- include reclaim
-- include skip_tombstones
-- include claims
-- include start_limited
-- include start_turns
-- include claim_limited
-- include may_start
-- include claim_known
-- include claim
-- include claim_all
-- include take
-- include throughput
-- include repeat_step
-- include without_end
-- include agenda
-- include queue_limit
-- include sweep
-- include next_step

local FIRST = 10
local FIRST_RESULT = 30

local now_ms, now_s, now_us = clock()
-- What the parts share:
--   keys             the keys of the queue
--   new_token        now_us as text: the token of a task's first claim
--   first_claim      attempts, crashes and snoozes of a task's first claim
--   poison_to_claim  poison tasks that this step may still claim
--   channel          as in the arguments
--   holder, worker   `channel worker` for the records, and the worker's name alone
--   counts           runs that ended in this step, by outcome
--   records          for the history (see parts/history)
--   ends, member_ends  of members of groups, and how many are left (see parts/member_end)
--   has_ready, has_due  by priority, whether the list or set may have ids
-- Set by parts/read_queue: any_expiring (whether a queued task may expire), tombstones, awaited and progress
-- (their keys; false while they are empty). Set by parts/queue_settings: paused, history_limit, has_steps (whether
-- tasks have had steps), limits (see parts/limit; false in a queue without them), limit and starts (see
-- parts/queue_limit), sweep (see parts/sweep); later, `sweeps` is whether the next step continues the sweep
local step = {
  keys = {
    bodies = KEYS[1], state = KEYS[2], leases = KEYS[3],
    ready = {KEYS[4], KEYS[5], KEYS[6]}, due = {KEYS[7], KEYS[8], KEYS[9]},
    idle = KEYS[10], dead = KEYS[11], expiring = KEYS[12], tombstones = KEYS[13], awaited = KEYS[14],
    settings = KEYS[15], throughput = KEYS[16], history = KEYS[17], unique = KEYS[18], kept = KEYS[19],
    limit_keys = KEYS[20], admitted = KEYS[21], limited = KEYS[22], progress = KEYS[23],
    step_index = KEYS[24], steps = KEYS[25], signals = KEYS[26], member_ends = KEYS[27],
  },
  now_ms = now_ms, now_us = now_us, new_token = string.format('%.0f', now_us),
  first_claim = {attempts = 1, crashes = 0, snoozes = 0},
  want = tonumber(ARGV[5]), poison_to_claim = tonumber(ARGV[6]), lease_ms = tonumber(ARGV[7]),
  max_crashes = tonumber(ARGV[8]), idle_ms = tonumber(ARGV[9]), channel = ARGV[3],
  holder = ARGV[3] .. ' ' .. ARGV[4], worker = ARGV[4],
  counts = {done = 0, retried = 0, dead = 0, snoozed = 0, gave_up = 0},
  records = {}, ends = {}, has_ready = {}, has_due = {},
}

local ledger = ledger_at(KEYS[28], KEYS[29], now_s)
local known = ledger_answer(ledger, ARGV[1], ARGV[2])
if known then
  local accepted, granted = ledger_entry(ledger, ARGV[1], known, (#ARGV - FIRST + 1) / SETTLEMENT)
  return repeat_step(step, accepted, granted)
end

read_queue(step)
local accepted, requeued = settle_all(step, ARGV, FIRST, KEYS, FIRST_RESULT)
local own_expired = {}
if step.channel ~= '' then  -- otherwise this step only settles
  local reclaimed
  reclaimed, own_expired = reclaim(step, step.channel)
  requeued = requeued or reclaimed > 0
end
step.sweeps = step.sweep and step.limits and sweep(step.limits, step.sweep)
apply_queue_limit(step)
local claims = no_claims()
if not step.paused then
  take_next(step, claims)
end
write_claims(step, claims)
log_starts(step, claims.count)
write_history(step, write_throughput(step.keys.throughput, step.counts, now_ms))
write_ends(step)
-- Written even if nothing was claimed: a late copy of this step must not claim for a worker that has gone on.
ledger_write(ledger, ARGV[1], ARGV[2], cmsgpack.pack({accepted, claims.granted}))

local plan = plan_next(step, claims, requeued)
return {
  plan.wait_ms, plan.left, accepted, plan.missing, claims.reply, own_expired, step.progress and 1 or 0, step.member_ends, now_ms,
  step.was_idle and 1 or 0, claims.stepped,
}
