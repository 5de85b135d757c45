-- Saves and ends a feed, and renews the leases of its consumers.
-- Needs the parts: packed, feed, consumer_record.

local UNUSED_TTL_MS = 24 * 3600 * 1000  -- lifetime of the keys after the last call of a publisher or consumer
local ENDED_TTL_MS = 3600 * 1000        -- lifetime of `meta` after the feed has ended
local BASE = 2048                       -- bytes of the budget for the feed itself

-- Returns all keys but `meta`.
local function other_keys(feed)
  return feed.names, feed.files, feed.chunks, feed.positions, feed.sessions, feed.consumers, feed.publishing,
    feed.waiting
end

local function save_feed(feed)
  redis.call('HSET', feed.meta, 'state', feed.state, 'used', text(feed.used), 'top', text(feed.top))
  redis.call('HSET', feed.meta, 'low', text(feed.low), 'left', text(feed.left))
  for _, key in ipairs({feed.meta, other_keys(feed)}) do
    redis.call('PEXPIRE', key, UNUSED_TTL_MS)
  end
end

local function renew_consumer(feed, consumer)
  local record = record_of(feed, consumer)
  record.until_ms = math.max(record.until_ms, feed.now_ms + feed.options.lease_ms)
  save_record(feed, consumer, record)
  return record
end

-- Sets the state of the feed, and deletes all keys but `meta`.
local function end_feed(feed, state)
  feed.state, feed.used, feed.left = state, 0, 0
  redis.call('HSET', feed.meta, 'state', state, 'used', 0, 'left', 0)
  redis.call('UNLINK', other_keys(feed))
  redis.call('PEXPIRE', feed.meta, ENDED_TTL_MS)
end
