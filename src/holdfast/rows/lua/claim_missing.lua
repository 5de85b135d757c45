#!lua
-- rows/claim_missing: lease rows for a reader that misses them; each row gets one loader.
--
-- KEYS[1]  HASH    plan      scheduled rows -> every_ms:read_ms
-- KEYS[2]  ZSET    loads     rows that are loaded, scored by the token of the load
-- KEYS[3]  HASH    failures  rows that failed, '' all -> at_ms:failures:why
-- KEYS[4]  STRING  row       first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  int     lease_ms  for so long no other process loads them
-- ARGV[2]  int     quiet_ms  for so long after a failure no reader tries again
-- ARGV[3]  string  first of pairs: id, and `read_ms` of the copy that the reader has
-- returns  array   token, now (ms), then for each row: 'load'; 'newer' (there is a newer copy);
--                  'wait MS' (another process loads it for so long at most); 'failed REASON'
-- include clock
-- include numbers
-- include lease

local plan, loads, failures = KEYS[1], KEYS[2], KEYS[3]
local lease_ms, quiet_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local now_ms, _, now_us = clock()
local FIRST = 3
local FIRST_ROW = 4

local function read_ms(id, key)
  local stored = stored_number((redis.call('GET', key) or ''):match('^%d+'))
  local seen = stored_number((redis.call('HGET', plan, id) or ''):match(':(%d+)'))
  return stored and math.max(stored, seen or 0) or 0
end

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
