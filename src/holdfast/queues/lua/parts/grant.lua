-- Hands tasks over to the worker that asks.
-- Expects: state, leases, lease_ms, out, now_ms.

local claims, claimed_bytes = 0, 0
local claimed = {}                          -- id and token of each, one after the other, for the ledger
local leased, recorded, taken = {}, {}, {}  -- what is written once all are claimed

local function answer(id, token, attempts, crashes, body)
  local n = #out
  claimed_bytes = claimed_bytes + #body
  out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = id, token, attempts, crashes, body
end

local function take(id, token, record)
  taken[id] = true
  claims = claims + 1
  claimed[#claimed + 1], claimed[#claimed + 2] = id, token
  leased[#leased + 1], leased[#leased + 2] = now_ms + lease_ms, id
  recorded[#recorded + 1], recorded[#recorded + 2] = id, record
end

local function write_claims()
  if #leased > 0 then
    redis.call('ZADD', leases, unpack(leased))
    redis.call('HSET', state, unpack(recorded))
  end
end
