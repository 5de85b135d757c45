-- How a feed begins, continues and ends.
-- Expects: packed, feed, consumer_record.

local UNUSED_TTL_MS = 24 * 3600 * 1000  -- without a publisher or reader
local ENDED_TTL_MS = 3600 * 1000       -- for the state of a feed that has ended
local BASE = 2048                 -- bytes of the budget for the feed itself

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

-- The first publisher or consumer that gives a definition begins the feed.
local function begin_feed(feed, definition, epoch)
  if feed.definition or definition == '' or epoch ~= '' then
    return
  end
  -- Keys of an earlier feed may exist if the server evicted only some of them.
  redis.call('UNLINK', other_keys(feed))
  redis.call('HSET', feed.meta, 'definition', definition, 'epoch', text(feed.now_us), 'state', 'open')
  redis.call('HSET', feed.meta, 'used', BASE, 'top', 0, 'low', 1, 'left', 0, 'bytes', 0, 'token', 0)
  read_feed(feed)
  for _, consumer in ipairs(feed.options.consumers) do
    renew_consumer(feed, consumer)  -- it has a lease to make its first call
  end
  save_feed(feed)
end

-- Deletes all keys but `meta`.
local function end_feed(feed, state)
  feed.state, feed.used, feed.left = state, 0, 0
  redis.call('HSET', feed.meta, 'state', state, 'used', 0, 'left', 0)
  redis.call('UNLINK', other_keys(feed))
  redis.call('PEXPIRE', feed.meta, ENDED_TTL_MS)
end
