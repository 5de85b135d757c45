#!lua flags=no-writes
-- queues/delayed_keys: return limit keys with tasks that wait for a permit, a page of them per call.
--
-- KEYS[1]  HASH    limit_keys  the limit keys in use
-- KEYS[2]  ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[3]  ZSET    limited   tasks that wait for a permit of their limit key
-- KEYS[4]  HASH    settings  the definitions of limits
-- KEYS[5]  HASH    bodies    id -> envelope
-- ARGV[1]  int     slot      number of the first limit key to examine (see parts/limit_key)
-- ARGV[2]  int     limit     keys at most, 1 to 1000
-- returns  array   the next slot (-1: there are no more); then seven for each key: name and key, its definition, how
--                  many of its tasks wait for a permit, are ready, and run, until when it is paused (ms), since
--                  when its next task is queued (ms; 0: unknown)
-- include clock
-- include limit
-- include limit_key

local admitted, limited, slot = KEYS[2], KEYS[3], tonumber(ARGV[1])
local limits = {
  settings = KEYS[4], limit_keys = KEYS[1], definitions = {}, by_slot = {}, now_ms = clock(),
}
local out = {-1}
for _ = 1, tonumber(ARGV[2]) do
  local found = redis.call('ZRANGE', limited, LIMITED_KEY * slot, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  out[1] = -1
  if not found[1] then
    break
  end
  slot = math.floor(found[2] / LIMITED_KEY)
  local key, first = key_at(limits, slot), ADMITTED_KEY * slot
  local body = redis.call('HGET', KEYS[5], found[1]) or ''
  local names, name = names_of(key)
  for _, value in ipairs({
    names,
    redis.call('HGET', limits.settings, 'limit:' .. name) or '',
    redis.call('ZCOUNT', limited, LIMITED_KEY * slot, LIMITED_KEY * (slot + 1) - 1),
    redis.call('ZCOUNT', admitted, first + 1, first + 3),
    redis.call('ZCOUNT', admitted, first, first),
    string.format('%.0f', key.not_before > limits.now_ms and key.not_before or 0),
    body:match('.*"ts":%s*(%d+)') or '0',
  }) do
    out[#out + 1] = value
  end
  slot = slot + 1
  out[1] = slot
end
return out
