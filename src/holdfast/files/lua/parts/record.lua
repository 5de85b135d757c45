-- What a consumer has done.
-- Expects: sound, consumers.

local RECORD = {'until_ms', 'files', 'bytes', 'damaged', 'missed', 'untold', 'failing', 'after_ms'}

local function record_in(packed)
  return unpacked(packed, consumers, 'a consumer', RECORD)
end

local function record_of(consumer)
  local packed = redis.call('HGET', consumers, consumer)
  return packed and record_in(packed)
    or {until_ms = 0, files = 0, bytes = 0, damaged = 0, missed = 0, untold = 0, failing = 0, after_ms = 0}
end

local function keep_record(consumer, record)
  redis.call('HSET', consumers, consumer, cmsgpack.pack(record))
end
