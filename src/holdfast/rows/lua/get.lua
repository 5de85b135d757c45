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
local ids = {}
for i = FIRST, #ARGV do
  ids[i - 1] = ARGV[i]
end
local planned = redis.call('HMGET', KEYS[1], unpack(ids))
local out, taken = {string.format('%.0f', now_ms)}, 0
for i = FIRST, #ARGV do
  local stored = redis.call('GET', KEYS[i]) or ''
  taken = taken + #stored
  if taken > bytes and i > FIRST then
    break
  end
  out[#out + 1] = stored
  out[#out + 1] = planned[i - 1] or ''
end
return out
