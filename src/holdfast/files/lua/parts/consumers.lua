-- How many consumers a feed may have, and which of their sessions have ended.
-- Expects: feed, consumer_record.

local MAX_CONSUMERS = 1000
local SESSIONS_AT_ONCE = 10  -- sessions that ended without a word, swept in one go

local function remove_expired_sessions(feed)
  for _, expired in ipairs(redis.call('ZRANGE', feed.sessions, '-inf', feed.now_ms, 'BYSCORE', 'LIMIT', 0, SESSIONS_AT_ONCE)) do
    redis.call('ZREM', feed.sessions, expired)
    redis.call('HDEL', feed.positions, '*' .. expired)
  end
end

-- Where whoever comes may read, names come and go: the dead make room for the living.
local function remove_expired_consumers(feed)
  local records = #feed.options.consumers == 0 and redis.call('HGETALL', feed.consumers) or {}
  for i = 1, #records, 2 do
    if record_in(feed, records[i + 1]).until_ms <= feed.now_ms then
      redis.call('HDEL', feed.consumers, records[i])
    end
  end
end

-- Whether there is no place for one of this name.
local function is_full(feed, consumer)
  if redis.call('HEXISTS', feed.consumers, consumer) == 1 or redis.call('HLEN', feed.consumers) < MAX_CONSUMERS then
    return false
  end
  remove_expired_consumers(feed)
  return redis.call('HLEN', feed.consumers) >= MAX_CONSUMERS
end
