-- Hands tasks over to the worker that asks.
--
-- *step* has the keys of the queue, `now_ms`, `lease_ms`, the `reply`, and how many tasks it may `want`. *claims* has what is claimed
-- in this step: how many (`count`), their `bytes`, and whether an id is `taken`; `granted` are ids
-- and tokens for the ledger, `leased` and `recorded` are what is written once all are claimed.
-- `looked_at` is how many ids were; `due_at` and `suspect_left` are explained in the part `claim`.

local CHUNK = 16             -- ids taken from a line at once
local LOOK_LIMIT = 512       -- ids looked at in one step: most may be cancelled or expired
local CLAIM_BYTES = 1048576  -- a reply must arrive within a timeout: after so much, no further chunk

local function no_claims()
  return {
    count = 0, bytes = 0, taken = {}, granted = {}, leased = {}, recorded = {},
    looked_at = 0, due_at = {}, suspect_left = false,
  }
end

-- How many ids to look at next.
local function room(step, claims)
  if claims.bytes >= CLAIM_BYTES or claims.looked_at >= LOOK_LIMIT then
    return 0
  end
  return math.min(CHUNK, step.want - claims.count)
end

local function answer_with(step, claims, id, token, attempts, crashes, body)
  local reply = step.reply
  local n = #reply
  claims.bytes = claims.bytes + #body
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = id, token, attempts, crashes, body
end

local function take(step, claims, id, token, record)
  local n = 2 * claims.count
  claims.taken[id] = true
  claims.count = claims.count + 1
  claims.granted[n + 1], claims.granted[n + 2] = id, token
  claims.leased[n + 1], claims.leased[n + 2] = step.now_ms + step.lease_ms, id
  claims.recorded[n + 1], claims.recorded[n + 2] = id, record
end

local function write_claims(step, claims)
  if claims.count > 0 then
    redis.call('ZADD', step.leases, unpack(claims.leased))
    redis.call('HSET', step.state, unpack(claims.recorded))
  end
end
