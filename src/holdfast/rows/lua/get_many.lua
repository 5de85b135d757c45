#!lua flags=no-writes
-- rows/get_many: return the cached copies of rows, as many as fit into the reply.
--
-- KEYS[1]  HASH    plan   scheduled rows -> every_ms:read_ms
-- KEYS[2]  STRING  row    first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  int     bytes  maximum bytes of rows in the reply, except that it has at least one row
-- ARGV[2]  int     skip   length of the key of a row before its id
-- ARGV[3]  int     count  number of rows
-- returns  array   now (ms), then for each row: the value of its key, its entry in `plan`; '' if not stored
-- include clock

local bytes, skip, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local FIRST = 2
local now_ms = clock()
local ROWS_AT_ONCE = 16  -- a larger number is faster, but takes more memory
local rows, ids = {}, {}
for i = FIRST, count + 1 do
  rows[i - 1], ids[i - 1] = KEYS[i], KEYS[i]:sub(skip + 1)
end
local planned = redis.call('HMGET', KEYS[1], unpack(ids))
local out, taken = {string.format('%.0f', now_ms)}, 0
local read = {}
for n = 1, count do
  local at = (n - 1) % ROWS_AT_ONCE + 1
  if at == 1 then
    local last = math.min(n + ROWS_AT_ONCE - 1, count)
    read = redis.call('MGET', rows[n], unpack(rows, n + 1, last))
  end
  local stored = read[at] or ''
  taken = taken + #stored
  if taken > bytes and n > 1 then
    break
  end
  out[#out + 1], out[#out + 2] = stored, planned[n] or ''
end
return out
