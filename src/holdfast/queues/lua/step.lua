#!lua flags=allow-oom
-- queues/step: all a worker does with a queue, in one step: settle what is finished, take back what
-- dead workers held, claim what is next. The same number again gives the same answer.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  HASH    state    id -> token:attempts:crashes:priority:note
-- KEYS[3]  ZSET    leases   running ids, scored by when the lease ends (ms)
-- KEYS[4]  LIST    ready_h  ids, the next one first
-- KEYS[5]  LIST    ready_m
-- KEYS[6]  LIST    ready_l
-- KEYS[7]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[8]  ZSET    due_m
-- KEYS[9]  ZSET    due_l
-- KEYS[10] ZSET    idle     bell channels of waiting workers
-- KEYS[11] ZSET    dead     ids, scored by when they died (ms)
-- KEYS[12] HASH    even     ledger of even hours
-- KEYS[13] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  channel      where this worker's process is rung
-- ARGV[4]  string  worker       who claims, for people to read
-- ARGV[5]  int     want         tasks to claim at most, 0 to 256
-- ARGV[6]  int     lease_ms     life of a claim that is not renewed
-- ARGV[7]  int     max_crashes  claims that may end without a word before the task is dead
-- ARGV[8]  string  first of the settled tasks, four arguments each:
--                  id, token, verb (done, retry, dead, release), detail (retry: ms; dead: reason)
-- returns  array   wait_ms (until something is due here, -1 unknown), left (tasks that are not dead,
--                  -1 not counted), accepted (one digit per settled task), then five per claim:
--                  id, token, attempt, crashes, envelope
-- include clock
-- include bell
-- include ledger

local bodies, state, leases, idle, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[10], KEYS[11]
local ready = {KEYS[4], KEYS[5], KEYS[6]}
local due = {KEYS[7], KEYS[8], KEYS[9]}
local channel, worker = ARGV[3], ARGV[4]
local want, lease_ms, max_crashes = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local FIRST = 8
local IDLE_MS = 60000  -- a waiting worker is believed to be there this long

local out = {-1, -1, ''}
-- include record
-- include settle
-- include reclaim
-- include claim
-- include again
-- include agenda

local ledger = ledger_at(KEYS[12], KEYS[13], now_s)
local known = ledger_answer(ledger, ARGV[1], ARGV[2])
if known then
  local before = cmsgpack.unpack(known)
  out[3] = before[1]
  repeat_claims(before[2])
  return out
end

local accepted, put_back = {}, false
for i = FIRST, #ARGV, 4 do
  local verb = ARGV[i + 2]
  accepted[#accepted + 1] = settle(ARGV[i], tonumber(ARGV[i + 1]), verb, ARGV[i + 3])
  put_back = put_back or verb == 'retry' or verb == 'release'
end
out[3] = table.concat(accepted)
put_back = reclaim(max_crashes) > 0 or put_back
for priority = 1, 3 do
  claim_from(priority)
end
-- Also when nothing was claimed: a copy of this step that comes late must not claim for nobody.
ledger_write(ledger, ARGV[1], ARGV[2], cmsgpack.pack({out[3], claimed}))

if #claimed < want and claimed_bytes < CLAIM_BYTES then
  redis.call('ZADD', idle, now_ms + IDLE_MS, channel)
  redis.call('PEXPIRE', idle, IDLE_MS)
  out[2] = redis.call('HLEN', bodies) - redis.call('ZCARD', dead)
  out[1] = out[2] > 0 and next_ms() or -1
else
  redis.call('ZREM', idle, channel)
  out[1] = 0
  if put_back or more_ready() then
    ring(idle, now_ms)
  end
end
return out
