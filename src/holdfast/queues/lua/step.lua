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
-- include notify
-- include ledger
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

local FIRST = 9
local FIRST_RESULT = 19
local IDLE_MS = 30000  -- a waiting worker is believed to be there this long

local now_ms, now_s, now_us = clock()
local channel, writer, want = ARGV[3], ARGV[1], tonumber(ARGV[5])
local step = {
  bodies = KEYS[1], state = KEYS[2], leases = KEYS[3],
  ready = {KEYS[4], KEYS[5], KEYS[6]}, due = {KEYS[7], KEYS[8], KEYS[9]},
  idle = KEYS[10], dead = KEYS[11], expiring = KEYS[12],
  left_over = left_over_in(KEYS[13]), awaited = awaited_in(KEYS[14]),
  paused = redis.pcall('HEXISTS', KEYS[15], 'paused') == 1,
  now_ms = now_ms, now_us = now_us, first_token = string.format('%.0f', now_us),
  want = want, suspects = tonumber(ARGV[6]), lease_ms = tonumber(ARGV[7]),
  max_crashes = tonumber(ARGV[8]), holder = channel .. ' ' .. ARGV[4], any_expiring = true,
  ended = {done = 0, retried = 0, dead = 0},
  reply = {-1, -1, '', 0},
}
local reply, idle, claims = step.reply, step.idle, no_claims()

local ledger = ledger_at(KEYS[17], KEYS[18], now_s)
local known = ledger_answer(ledger, writer, ARGV[2])
if known then
  local verdicts, granted = (#ARGV - FIRST + 1) / 5, nil
  reply[3], granted = settled_and_granted(ledger, writer, known, verdicts)
  repeat_claims(step, claims, granted)
  return reply
end

if want > 0 then
  check_types(step, KEYS[14], KEYS[15], KEYS[16], KEYS[13])
end
local put_back_some, reclaimed, questioned = false, 0, {}
reply[3], put_back_some = settle_all(step, ARGV, FIRST, KEYS, FIRST_RESULT)
if channel ~= '' then  -- who only settles is no judge of others, nor known to hold anything
  reclaimed, questioned = reclaim(step, channel, step.max_crashes)
end
if not step.paused then
  step.any_expiring = redis.call('EXISTS', step.expiring) == 1
  for priority = 1, 3 do
    claim_due(step, claims, priority)
    claim_ready(step, claims, priority)
  end
end
write_claims(step, claims)
write_pace(KEYS[16], step.ended, now_ms)
-- Also when nothing was claimed: a copy of this step that comes late must not claim for a worker
-- that waits for no answer.
ledger_write(ledger, writer, ARGV[2], cmsgpack.pack({reply[3], claims.granted}))

if claims.count < want and claims.bytes < CLAIM_BYTES then
  redis.call('ZADD', idle, now_ms + IDLE_MS, channel)
  redis.call('PEXPIRE', idle, IDLE_MS)
  reply[2], reply[4] = count_standing(step, KEYS[13])
  if reply[2] > 0 then
    reply[1] = claims.looked_at < LOOK_LIMIT and next_ms(step, claims.suspect_left) or 0
  end
else
  local waited = redis.call('ZREM', idle, channel) == 1
  reply[1] = 0
  -- The idle worker that knew the next due time is busy now; another one has to know it.
  if put_back_some or reclaimed > 0 or more_ready(step, claims.suspect_left)
    or waited and next_ms(step, claims.suspect_left) > 0 then
    notify_one(idle, now_ms)
  end
end
if #questioned > 0 then
  reply[#reply + 1] = questioned
end
return reply
