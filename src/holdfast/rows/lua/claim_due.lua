#!lua
-- rows/claim_due: lease rows that are due. A row is due again when its lease ends.
--
-- KEYS[1]  ZSET    due    scheduled rows, scored by when they are due (ms)
-- KEYS[2]  HASH    plan   scheduled rows -> every_ms:read_ms
-- KEYS[3]  ZSET    loads  rows that are being loaded, scored by the token of the load
-- ARGV[1]  int     limit     maximum number of rows
-- ARGV[2]  int     lease_ms  duration of the lease
-- returns  array   token, now (ms), ms until another row is due (0: now, -1: no row is scheduled), then for each
--                  leased row: its id, its entry in `plan` ('' if there is none)
-- include clock
-- include numbers
-- include lease

local due, plan, loads = KEYS[1], KEYS[2], KEYS[3]
local limit, lease_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local now_ms, _, now_us = clock()
local LONGEST_MS = 2 ^ 40
local UNUSED_TTL_S = 400 * 86400

local out = {'', text(now_ms), '-1'}
local ids = redis.call('ZRANGE', due, '-inf', text(now_ms), 'BYSCORE', 'LIMIT', 0, limit)
if #ids > 0 then
  local token = next_token(loads, now_us, lease_ms)
  local ends_ms = leased_until_ms(token, now_us)
  local planned = redis.call('HMGET', plan, unpack(ids))
  local scores = redis.call('ZMSCORE', loads, unpack(ids))
  local ends, tokens = {}, {}
  for i, id in ipairs(ids) do
    local others_ms = leased_until_ms(scores[i], now_us)
    ends[#ends + 1], ends[#ends + 2] = text(others_ms or ends_ms), id
    if not others_ms then
      tokens[#tokens + 1], tokens[#tokens + 2] = token, id
      out[#out + 1], out[#out + 2] = id, planned[i] or ''
    end
  end
  redis.call('ZADD', due, 'XX', unpack(ends))
  if #tokens > 0 then
    redis.call('ZADD', loads, unpack(tokens))
  end
  redis.call('EXPIRE', due, UNUSED_TTL_S)
  redis.call('EXPIRE', plan, UNUSED_TTL_S)
  out[1] = token
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
if first[2] then
  out[3] = text(math.max(0, math.min(tonumber(first[2]) - now_ms, LONGEST_MS)))
end
return out
