#!lua
-- rows/claim_missing: lease rows for a reader that misses them, unless another process loads them.
--
-- KEYS[1]  HASH    plan      scheduled rows -> every_ms:read_ms
-- KEYS[2]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[3]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- KEYS[4]  STRING  row       first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  int     lease_ms  duration of the lease
-- ARGV[2]  int     quiet_ms  duration after a failure during which readers do not try again
-- ARGV[3]  string  first of pairs: id; `read_ms` of the copy that the reader has, 0 if it has none
-- returns  array   token, now (ms), then for each row:
--                  'load': the caller has leased it
--                  'newer': a newer copy is cached
--                  'wait MS': another process loads it; its lease ends after this time
--                  'failed REASON': loading it failed a short time ago
-- include clock
-- include numbers
-- include lease

local plan, loads, failures = KEYS[1], KEYS[2], KEYS[3]
local lease_ms, quiet_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local now_ms, _, now_us = clock()
local FIRST = 3
local FIRST_ROW = 4

-- Returns when the cached copy of a row was read; 0 if the row is not cached.
local function read_ms(id, key)
  local stored = stored_number((redis.call('GET', key) or ''):match('^%d+'))
  local seen = stored_number((redis.call('HGET', plan, id) or ''):match(':(%d+)'))
  return stored and math.max(stored, seen or 0) or 0
end

-- Returns why loading a row failed less than *quiet_ms* ago; nil or false if it did not.
local function failed(id)
  local at, why = (redis.call('HGET', failures, id) or ''):match('^(%d+):%d+:(.*)')
  at = stored_number(at)
  return at and at <= now_ms and now_ms - at < quiet_ms and why
end

local token = next_token(loads, now_us, lease_ms)
local all_failed = failed('')
local out = {token, text(now_ms)}
for i = FIRST, #ARGV, 2 do
  local id = ARGV[i]
  local row = FIRST_ROW + (i - FIRST) / 2
  local ends_ms = leased_until_ms(redis.call('ZSCORE', loads, id), now_us)
  local why = all_failed or failed(id)
  if read_ms(id, KEYS[row]) > tonumber(ARGV[i + 1]) then
    out[#out + 1] = 'newer'
  elseif ends_ms then
    out[#out + 1] = 'wait ' .. text(ends_ms - now_ms)
  elseif why then
    out[#out + 1] = 'failed ' .. why
  else
    redis.call('ZADD', loads, token, id)
    out[#out + 1] = 'load'
  end
end
return out
