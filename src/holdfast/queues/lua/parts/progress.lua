-- The tasks that have events, or followers (see queues/keys.py). A follower is a reader that waits for events:
-- it listens to the channel `PROGRESS:ID:notify`, where PROGRESS is the key.

local ENDED_MS = 60000  -- events are kept at least so long after the end, because followers may still read them

-- Returns *key*, the HASH id -> number:bytes:progress; false while it is empty.
local function progress_in(key)
  local count = redis.pcall('HLEN', key)
  return type(count) == 'number' and count > 0 and key
end

-- Notifies those who follow the task *id*.
local function notify_followers(progress, id)
  local channel = progress .. ':' .. id .. ':notify'
  redis.pcall('SPUBLISH', channel, '')
end

-- Notifies those who follow a task that is dead. Its events stay.
local function notify_dead(progress, id)
  if progress and redis.call('HEXISTS', progress, id) == 1 then
    notify_followers(progress, id)
  end
end

-- Ends the events of a task that is done, cancelled or purged. *events* is their key, if it is known, and
-- *kept_ms* how long its result is kept. Returns whether the task was in *progress*, as `progress_in` returned it.
local function end_events(progress, id, events, kept_ms)
  if not progress or redis.call('HDEL', progress, id) == 0 then
    return false
  end
  if events then
    redis.call('PEXPIRE', events, math.max(kept_ms, ENDED_MS))
  end
  notify_followers(progress, id)
  return true
end
