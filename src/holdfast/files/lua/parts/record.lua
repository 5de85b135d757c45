-- What a consumer has done.
-- Expects: stored.

local RECORD = {'until_ms', 'files', 'bytes', 'damaged', 'missed', 'untold', 'failing', 'after_ms'}

local function record_in(feed, packed)
  return unpacked(packed, RECORD, 'a consumer', feed.consumers)
end

local function record_of(feed, consumer)
  local packed = redis.call('HGET', feed.consumers, consumer)
  return packed and record_in(feed, packed)
    or {until_ms = 0, files = 0, bytes = 0, damaged = 0, missed = 0, untold = 0, failing = 0, after_ms = 0}
end

local function keep_record(feed, consumer, record)
  redis.call('HSET', feed.consumers, consumer, cmsgpack.pack(record))
end
