#!lua flags=no-writes
-- rows/get: what the cache has of some rows.
--
-- KEYS[1]  HASH    plan   scheduled rows -> every_ms:read_ms
-- KEYS[2]  STRING  row    first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  int     bytes  after so many the answer ends; the first row always comes
-- ARGV[2]  string  first of the ids, in the order of the rows
-- returns  array   now (ms), then for each row: what is stored and what is planned, '' nothing
-- include clock

local bytes = tonumber(ARGV[1])
local FIRST = 2
local TOGETHER = 16  -- rows that are read at once: more is faster, and takes more memory
local planned = redis.call('HMGET', KEYS[1], unpack(ARGV, FIRST))
local out, taken = {string.format('%.0f', now_ms)}, 0
local rows = {}
for i = FIRST, #ARGV do
  local n = (i - FIRST) % TOGETHER + 1
  if n == 1 then
    rows = redis.call('MGET', unpack(KEYS, i, math.min(i + TOGETHER - 1, #KEYS)))
  end
  local stored = rows[n] or ''
  taken = taken + #stored
  if taken > bytes and i > FIRST then
    break
  end
  out[#out + 1] = stored
  out[#out + 1] = planned[i - 1] or ''
end
return out
