-- How often reading a file failed, and when it is tried again.
-- Expects: file, lease, consumer_record.

local ATTEMPTS = 10            -- without progress
local FILE_FREE = 3            -- failures in a row that cause no pause
local FILE_MS = 1000           -- first pause; each is twice as long as the one before
local FILE_MOST_MS = 32000     -- longest pause
local CONSUMER_FREE = 5        -- the same for a consumer; more, so that it gets other files first
local CONSUMER_MS = 50
local CONSUMER_MOST_MS = 1000  -- short, because other files wait

local function pause_ms(first, failures)
  return failures > 0 and first * 2 ^ math.min(failures - 1, 20) or 0
end

-- The file is not assigned again before a pause. The consumer pauses before its next file, so that a full
-- disk does not cause a thousand failures a second.
local function pause(feed, record, position, times)
  position.after_ms = feed.now_ms + math.min(pause_ms(FILE_MS, times - FILE_FREE), FILE_MOST_MS)
  record.failing = record.failing + 1
  record.after_ms = feed.now_ms + math.min(pause_ms(CONSUMER_MS, record.failing - CONSUMER_FREE), CONSUMER_MOST_MS)
end

-- Counts a file that came back without an error. It is never set aside for that.
local function count_return(feed, record, position)
  position.returns = position.returns + 1
  pause(feed, record, position, position.returns)
end

-- Counts a file that its last reader did not settle.
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

-- Counts a failure of *consumer*. After ATTEMPTS failures the file waits for `retry`.
local function count_attempt(feed, consumer, record, file, group, position, reason)
  position.tries, position.by = position.tries + 1, consumer
  pause(feed, record, position, position.tries)
  file.reason = reason
  if position.tries >= ATTEMPTS then
    set_group_state(file, group, '2')
    redis.call('HINCRBY', feed.meta, 'failed', 1)
  end
end
