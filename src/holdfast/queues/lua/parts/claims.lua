-- Collects the tasks that one step claims for its worker.
-- Needs the parts: step_index.
--
-- *claims* has these fields:
--   count, bytes  how many tasks are claimed, and the size of their envelopes
--   reply         id, token, attempt, crashes, snoozes and envelope of each task, for the worker
--   taken         true for the id of each claimed task
--   granted       ids and tokens, for the ledger
--   stepped       ids of the claimed tasks that have stored steps
--   leased        scores and ids, written once all are claimed
--   recorded      ids and records, written once all are claimed
--   looked_at     how many ids were examined
--   due_at        since when each task of a due set was due (ms), by id
--   poison_left   whether a poison task stays queued, because this worker runs one already
--   later         when limited tasks that must not start yet are due (ms), by id
--   placed        true for the id of each limited task that got another place
--   moved         how many limited tasks have left their place and were not claimed

local CHUNK = 16             -- ids taken from a list or set at once
local LOOK_LIMIT = 256       -- ids examined in one step; most may be cancelled or expired
local CLAIM_BYTES = 1048576  -- bytes in one reply, which must arrive in time; the last chunk may exceed it

local function no_claims()
  return {
    count = 0, bytes = 0, reply = {}, taken = {}, granted = {}, stepped = {}, leased = {}, recorded = {},
    looked_at = 0, due_at = {}, poison_left = false, later = {}, moved = 0, placed = {},
  }
end

-- Returns how many ids to examine next.
local function room(step, claims)
  if claims.bytes >= CLAIM_BYTES or claims.looked_at >= LOOK_LIMIT then
    return 0
  end
  return math.min(CHUNK, step.want - claims.count)
end

local function add_to_reply(claims, id, token, task, body)
  local reply = claims.reply
  local n = #reply
  claims.bytes = claims.bytes + #body
  reply[n + 1], reply[n + 2], reply[n + 3] = id, token, task.attempts
  reply[n + 4], reply[n + 5], reply[n + 6] = task.crashes, task.snoozes, body
end

-- Notes whether a task that was claimed before has steps (see parts/step_index). Uses pcall, because an index that
-- another program changed must not end this script half-way.
local function note_steps(step, claims, id)
  local readable, found = pcall(has_steps, step.keys, id)
  if readable and found then
    claims.stepped[#claims.stepped + 1] = id
  end
end

local function add_claim(step, claims, id, token, record)
  local n = 2 * claims.count
  claims.taken[id] = true
  claims.count = claims.count + 1
  claims.granted[n + 1], claims.granted[n + 2] = id, token
  claims.leased[n + 1], claims.leased[n + 2] = step.now_ms + step.lease_ms, id
  claims.recorded[n + 1], claims.recorded[n + 2] = id, record
end

local function write_claims(step, claims)
  if claims.count > 0 then
    redis.call('ZADD', step.keys.leases, unpack(claims.leased))
    redis.call('HSET', step.keys.state, unpack(claims.recorded))
  end
end
