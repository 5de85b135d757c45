-- The stored record of a consumer.
-- Needs the parts: packed.

local RECORD_NUMBERS = {'until_ms', 'files', 'bytes', 'damaged', 'missed', 'unreported', 'failing', 'after_ms'}

local function record_in(feed, packed)
  return unpacked(packed, RECORD_NUMBERS, 'a consumer', feed.consumers)
end

local function record_of(feed, consumer)
  local packed = redis.call('HGET', feed.consumers, consumer)
  return packed and record_in(feed, packed)
    or {until_ms = 0, files = 0, bytes = 0, damaged = 0, missed = 0, unreported = 0, failing = 0, after_ms = 0}
end

local function save_record(feed, consumer, record)
  redis.call('HSET', feed.consumers, consumer, cmsgpack.pack(record))
end
