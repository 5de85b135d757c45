-- How often reading a file failed, and when it is tried again.
-- Expects: file, lease, consumer_record.

local ATTEMPTS = 10            -- so often a file is tried, unless it gets on meanwhile
local FILE_FREE = 3            -- failures in a row after which it makes no pause: they may be by chance
local FILE_MS = 1000           -- its first pause; each is twice as long as the one before
local FILE_MOST_MS = 32000     -- and its longest one
local CONSUMER_FREE = 5        -- the same of a consumer; more, so that it gets other files before it pauses
local CONSUMER_MS = 50
local CONSUMER_MOST_MS = 1000  -- and its longest one: other files go on

local function pause_ms(first, failures)
  return failures > 0 and first * 2 ^ math.min(failures - 1, 20) or 0
end

-- The file pauses before it is handed out again. The consumer pauses before its next file: a full disk is
-- not met a thousand times a second.
local function pause(feed, record, position, times)
  position.after_ms = feed.now_ms + math.min(pause_ms(FILE_MS, times - FILE_FREE), FILE_MOST_MS)
  record.failing = record.failing + 1
  record.after_ms = feed.now_ms + math.min(pause_ms(CONSUMER_MS, record.failing - CONSUMER_FREE), CONSUMER_MOST_MS)
end

-- The file came back without an error: its reader was stopped. That sets no file aside.
local function count_return(feed, record, position)
  position.returns = position.returns + 1
  pause(feed, record, position, position.returns)
end

-- Its last reader died, or dropped the file without finishing it.
local function count_abandoned(feed, group, number, position)
  local consumer = position.session:sub(14)
  local record = record_of(feed, consumer)
  position.session = ''
  count_return(feed, record, position)
  save_position(feed, group, number, position)
  if redis.call('HEXISTS', feed.consumers, consumer) == 1 then
    save_record(feed, consumer, record)
  end
end

-- The attempt of this *consumer* failed. After so many attempts the file waits for `retry`.
local function count_attempt(feed, consumer, record, file, group, position, reason)
  position.tries, position.by = position.tries + 1, consumer
  pause(feed, record, position, position.tries)
  file.reason = reason
  if position.tries >= ATTEMPTS then
    set_group_state(file, group, '2')
    redis.call('HINCRBY', feed.meta, 'failed', 1)
  end
end
