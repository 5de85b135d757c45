-- How many consumers a feed may have, and which of their sessions have ended.
-- Expects: now_ms, feed, record, places, alive, consumers.

local CROWD = 1000
local EXPIRED = 10  -- sessions that ended without a word, swept in one go

local function sweep()
  for _, gone in ipairs(redis.call('ZRANGE', alive, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, EXPIRED)) do
    redis.call('ZREM', alive, gone)
    redis.call('HDEL', places, '*' .. gone)
  end
end

-- Where whoever comes may read, names come and go: the dead make room for the living.
local function forget_the_dead()
  local records = #terms.consumers == 0 and redis.call('HGETALL', consumers) or {}
  for i = 1, #records, 2 do
    if record_in(records[i + 1]).until_ms <= now_ms then
      redis.call('HDEL', consumers, records[i])
    end
  end
end

-- Whether there is no place for one of this name.
local function crowded(consumer)
  if redis.call('HEXISTS', consumers, consumer) == 1 or redis.call('HLEN', consumers) < CROWD then
    return false
  end
  forget_the_dead()
  return redis.call('HLEN', consumers) >= CROWD
end
