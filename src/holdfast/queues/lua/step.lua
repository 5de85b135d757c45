#!lua flags=allow-oom
-- queues/step: all a worker does with a queue, in one step: settle what is finished, take back what
-- dead workers held, claim what is next. The same number again gives the same answer.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  HASH    state    id -> token:attempts:crashes:priority:expires:parked:note
-- KEYS[3]  ZSET    leases   running ids, scored by when the lease ends (ms)
-- KEYS[4]  LIST    ready_h  ids, the next one first
-- KEYS[5]  LIST    ready_m
-- KEYS[6]  LIST    ready_l
-- KEYS[7]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[8]  ZSET    due_m
-- KEYS[9]  ZSET    due_l
-- KEYS[10] ZSET    idle     bell channels of waiting workers
-- KEYS[11] ZSET    dead     ids, scored by when they died (ms)
-- KEYS[12] ZSET    expiring  waiting ids that must not be begun any more from then on (ms)
-- KEYS[13] SET     left_over  cancelled ids that still stand in a ready line
-- KEYS[14] HASH    awaited  id -> channels to tell when it ends
-- KEYS[15] HASH    settings  paused
-- KEYS[16] HASH    pace     how many tasks ended, by minute
-- KEYS[17] HASH    even     ledger of even hours
-- KEYS[18] HASH    odd      ledger of odd hours
-- KEYS[19] STRING  result   the first of them: one for each task that is done
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  channel      where this worker's process is rung; '' when it only settles
-- ARGV[4]  string  worker       who claims, for people to read
-- ARGV[5]  int     want         tasks to claim at most, 0 to 256
-- ARGV[6]  int     suspects     of these, tasks that may be the next to kill their worker
-- ARGV[7]  int     lease_ms     life of a claim that is not renewed
-- ARGV[8]  int     max_crashes  claims that may end without a word before the task is dead
-- ARGV[9]  string  first of the settled tasks, five arguments each:
--                  id, token, verb (done, retry, dead, release, park), ms, text (see parts/settle)
-- returns  array   wait_ms (until something is due here, -1 unknown), left (tasks that are not dead,
--                  -1 not counted), accepted (one digit per settled task), astray (tasks in no line;
--                  below 0: ids in lines without a task), then five per claim:
--                  id, token, attempt, crashes, envelope; then, only if there are some, one array:
--                  id and token of each claim of this worker whose lease is over (see parts/reclaim)
-- include clock
-- include bell
-- include ledger

local bodies, state, leases, idle, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[10], KEYS[11]
local ready = {KEYS[4], KEYS[5], KEYS[6]}
local due = {KEYS[7], KEYS[8], KEYS[9]}
local expiring, left_over, awaited, settings = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local pace = KEYS[16]
local channel, worker = ARGV[3], ARGV[4]
local want, suspects, lease_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local max_crashes = tonumber(ARGV[8])
local FIRST = 9
local FIRST_RESULT = 19
local IDLE_MS = 30000  -- a waiting worker is believed to be there this long

local out = {-1, -1, '', 0}
local paused = false
-- include integrity
-- include left_over
-- include pass_over
-- include awaiting
-- include pace
-- include record
-- include unfinished
-- include settle
-- include reclaim
-- include grant
-- include claim
-- include lines
-- include again
-- include agenda

local ledger = ledger_at(KEYS[17], KEYS[18], now_s)
local known = ledger_answer(ledger, ARGV[1], ARGV[2])
if known then
  local readable, before = pcall(cmsgpack.unpack, known)
  local settled = readable and type(before) == 'table' and before[1]
  if type(settled) ~= 'string' or #settled ~= (#ARGV - FIRST + 1) / 5 or type(before[2]) ~= 'table' then
    ledger_damaged(ledger, ARGV[1])
  end
  out[3] = settled
  repeat_claims(before[2])
  return out
end

if want > 0 then
  check_types()
end
paused = redis.call('HEXISTS', settings, 'paused') == 1
local put_back_some
out[3], put_back_some = settle_all(FIRST, FIRST_RESULT)
if channel ~= '' then  -- who only settles is no judge of others, nor known to hold anything
  put_back_some = reclaim(max_crashes) > 0 or put_back_some
end
if not paused then
  any_expiring = redis.call('EXISTS', expiring) == 1
  for priority = 1, 3 do
    claim_from(priority)
  end
end
write_claims()
write_pace()
-- Also when nothing was claimed: a copy of this step that comes late must not claim for nobody.
ledger_write(ledger, ARGV[1], ARGV[2], cmsgpack.pack({out[3], claimed}))

if claims < want and claimed_bytes < CLAIM_BYTES then
  redis.call('ZADD', idle, now_ms + IDLE_MS, channel)
  redis.call('PEXPIRE', idle, IDLE_MS)
  out[2], out[4] = count_standing()
  if out[2] > 0 then
    out[1] = looked_at < LOOK_LIMIT and next_ms() or 0
  end
else
  local waited = redis.call('ZREM', idle, channel) == 1
  out[1] = 0
  -- Who waited knew when something is due; now another one has to know it.
  if put_back_some or more_ready() or waited and next_ms() > 0 then
    ring(idle, now_ms)
  end
end
ask_about_claims()
return out
