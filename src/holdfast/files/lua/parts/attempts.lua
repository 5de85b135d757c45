-- How often reading a file failed, and when it is tried again.
-- Expects: file.

local ATTEMPTS = 10            -- so often a file is tried, unless it gets on meanwhile
local FILE_FREE = 3            -- failures in a row after which it makes no pause: they may be by chance
local FILE_MS = 1000           -- its first pause; each is twice as long as the one before
local CONSUMER_FREE = 5        -- the same of a consumer; more, so that it gets other files before it pauses
local CONSUMER_MS = 50
local CONSUMER_MOST_MS = 1000  -- and its longest one: other files go on

local function pause_ms(first, failures)
  return failures > 0 and first * 2 ^ math.min(failures - 1, 20) or 0
end

-- The attempt of this *consumer* failed. The file pauses, and after so many attempts waits for `retry`. The
-- consumer pauses before its next file: a full disk is not met a thousand times a second.
local function count_attempt(feed, consumer, record, file, group, place, reason)
  place.tries, place.by = place.tries + 1, consumer
  place.after_ms = feed.now_ms + pause_ms(FILE_MS, place.tries - FILE_FREE)
  record.failing = record.failing + 1
  record.after_ms = feed.now_ms + math.min(pause_ms(CONSUMER_MS, record.failing - CONSUMER_FREE), CONSUMER_MOST_MS)
  file.reason = reason
  if place.tries >= ATTEMPTS then
    mark(file, group, '2')
    redis.call('HINCRBY', feed.meta, 'failed', 1)
  end
end
