-- How many consumers a feed may have, and which of their sessions have ended.
-- Expects: feed, record.

local CROWD = 1000
local EXPIRED = 10  -- sessions that ended without a word, swept in one go

local function sweep(feed)
  for _, gone in ipairs(redis.call('ZRANGE', feed.alive, '-inf', feed.now_ms, 'BYSCORE', 'LIMIT', 0, EXPIRED)) do
    redis.call('ZREM', feed.alive, gone)
    redis.call('HDEL', feed.places, '*' .. gone)
  end
end

-- Where whoever comes may read, names come and go: the dead make room for the living.
local function forget_the_dead(feed)
  local records = #feed.terms.consumers == 0 and redis.call('HGETALL', feed.consumers) or {}
  for i = 1, #records, 2 do
    if record_in(feed, records[i + 1]).until_ms <= feed.now_ms then
      redis.call('HDEL', feed.consumers, records[i])
    end
  end
end

-- Whether there is no place for one of this name.
local function crowded(feed, consumer)
  if redis.call('HEXISTS', feed.consumers, consumer) == 1 or redis.call('HLEN', feed.consumers) < CROWD then
    return false
  end
  forget_the_dead(feed)
  return redis.call('HLEN', feed.consumers) >= CROWD
end
