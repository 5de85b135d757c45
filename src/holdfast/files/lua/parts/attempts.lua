-- Counts failed attempts to read a file, and delays the next attempt.
-- Needs the parts: file, lease, consumer_record.

local ATTEMPTS = 10            -- failures without progress after which a file waits for `retry`
local FILE_FREE = 3            -- failures of a file in a row that cause no pause
local FILE_MS = 1000           -- first pause of a file; each pause is twice as long as the one before
local FILE_MOST_MS = 32000     -- longest pause of a file
local CONSUMER_FREE = 5        -- failures of a consumer in a row without a pause; more, so that it can try other files
local CONSUMER_MS = 50         -- first pause of a consumer
local CONSUMER_MOST_MS = 1000  -- longest pause of a consumer; short, because other files wait

local function pause_ms(first, failures)
  return failures > 0 and first * 2 ^ math.min(failures - 1, 20) or 0
end

-- Delays the next attempt for this file, which failed *times* times. Also delays the next file of the consumer, because
-- otherwise a full disk would cause a thousand failures a second.
local function pause(feed, record, position, times)
  position.after_ms = feed.now_ms + math.min(pause_ms(FILE_MS, times - FILE_FREE), FILE_MOST_MS)
  record.failing = record.failing + 1
  record.after_ms = feed.now_ms + math.min(pause_ms(CONSUMER_MS, record.failing - CONSUMER_FREE), CONSUMER_MOST_MS)
end

-- Counts a file that was given back without an error. However often this happens, no `retry` is needed.
local function count_return(feed, record, position)
  position.returns = position.returns + 1
  pause(feed, record, position, position.returns)
end

-- Counts a file that was not settled before its lease ended, as one that was given back without an error.
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

-- Counts a failed attempt of *consumer*. After ATTEMPTS of them the file waits for `retry`.
local function count_attempt(feed, consumer, record, file, group, position, reason)
  position.tries, position.by = position.tries + 1, consumer
  pause(feed, record, position, position.tries)
  file.reason = reason
  if position.tries >= ATTEMPTS then
    set_group_state(file, group, '2')
    redis.call('HINCRBY', feed.meta, 'failed', 1)
  end
end
