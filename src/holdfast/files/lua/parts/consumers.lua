-- Limits the number of consumers, and removes expired sessions and consumers.
-- Needs the parts: feed, consumer_record.

local MAX_CONSUMERS = 1000
local SESSIONS_AT_ONCE = 10  -- expired sessions that one call removes

local function remove_expired_sessions(feed)
  local expired = redis.call('ZRANGE', feed.sessions, '-inf', feed.now_ms, 'BYSCORE', 'LIMIT', 0, SESSIONS_AT_ONCE)
  for _, session in ipairs(expired) do
    redis.call('ZREM', feed.sessions, session)
    redis.call('HDEL', feed.positions, '*' .. session)
  end
end

-- Removes the records of expired consumers, unless the definition of the feed has a list of its consumers.
local function remove_expired_consumers(feed)
  local records = #feed.options.consumers == 0 and redis.call('HGETALL', feed.consumers) or {}
  for i = 1, #records, 2 do
    if record_in(feed, records[i + 1]).until_ms <= feed.now_ms then
      redis.call('HDEL', feed.consumers, records[i])
    end
  end
end

-- Returns whether the feed has too many consumers to admit this one.
local function is_full(feed, consumer)
  if redis.call('HEXISTS', feed.consumers, consumer) == 1 or redis.call('HLEN', feed.consumers) < MAX_CONSUMERS then
    return false
  end
  remove_expired_consumers(feed)
  return redis.call('HLEN', feed.consumers) >= MAX_CONSUMERS
end
