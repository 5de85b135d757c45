-- The life of a feed: how it begins, goes on and ends.
-- Expects: now_ms, now_us, sound, feed, record, names, files, chunks, places, alive, consumers, opened, waiting.

local KEPT_MS = 24 * 3600 * 1000  -- what nobody publishes to or reads
local OVER_MS = 3600 * 1000       -- what is left of a feed that is over
local BASE = 2048                 -- bytes of the budget that it takes by itself

local function save()
  redis.call('HSET', meta, 'state', feed.state, 'used', text(feed.used), 'top', text(feed.top))
  redis.call('HSET', meta, 'low', text(feed.low), 'left', text(feed.left))
  for _, key in ipairs({meta, names, files, chunks, places, alive, consumers, opened, waiting}) do
    redis.call('PEXPIRE', key, KEPT_MS)
  end
end

local function show_life(consumer)
  local record = record_of(consumer)
  record.until_ms = math.max(record.until_ms, now_ms + terms.lease_ms)
  keep_record(consumer, record)
  return record
end

-- A feed begins with the first publisher or consumer that says what it is to be.
local function found(definition, epoch)
  if feed or definition == '' or epoch ~= '' then
    return
  end
  -- What is left of another one, if the server dropped only some of its keys, is none of this one's.
  redis.call('UNLINK', names, files, chunks, places, alive, consumers, opened, waiting)
  redis.call('HSET', meta, 'definition', definition, 'epoch', text(now_us), 'state', 'open')
  redis.call('HSET', meta, 'used', BASE, 'top', 0, 'low', 1, 'left', 0, 'bytes', 0, 'token', 0)
  load()
  for _, consumer in ipairs(terms.consumers) do
    show_life(consumer)  -- it may come later than the others
  end
  save()
end

-- Drop everything but the word that it is over.
local function over(state)
  feed.state, feed.used, feed.left = state, 0, 0
  redis.call('HSET', meta, 'state', state, 'used', 0, 'left', 0)
  redis.call('UNLINK', names, files, chunks, places, alive, consumers, opened, waiting)
  redis.call('PEXPIRE', meta, OVER_MS)
end
