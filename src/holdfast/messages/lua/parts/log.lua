-- Reads, creates and saves mailboxes and chats, and extends their expiry.
-- Needs the parts: stored.

local KEPT_S = 400 * 86400  -- lifetime of an unused mailbox or chat

local function text(n)
  return string.format('%.0f', n)
end

-- Returns the mailbox or chat with these keys as a table: keys, times, and stored fields (`kept` is the field keep).
-- `epoch` is false if the mailbox or chat does not exist.
local function read_log(meta, log, cursors, active, now_ms, now_s, now_us)
  local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'day', 'keep', 'last')
  local epoch, top, floor = known[1], 0, 1
  if epoch or known[2] then
    whole(epoch, 1, EXACT, 'field epoch', meta)
    top = whole(known[2], 0, EXACT - 1, 'field top', meta)
    floor = whole(known[3], 1, top + 1, 'field floor', meta)
  end
  return {
    meta = meta, log = log, cursors = cursors, active = active,
    now_ms = now_ms, now_s = now_s, now_us = now_us,
    epoch = epoch, top = top, floor = floor, day = known[4], kept = known[5], last = known[6],
  }
end

-- Returns the number up to which *reader* has acknowledged; nil if *reader* is not a reader.
local function cursor_of(unit, reader)
  local score = redis.call('ZSCORE', unit.cursors, reader)
  return score and whole(score, 0, unit.top, 'a score', unit.cursors)
end

-- Creates the log. Deletes its keys first, because an eviction may have left some keys of an earlier log.
local function begin(unit)
  redis.call('UNLINK', unit.log, unit.cursors, unit.active)
  unit.epoch = text(unit.now_us)
  redis.call('HSET', unit.meta, 'epoch', unit.epoch, 'top', '0', 'floor', '1')
end

-- Extends the expiry of all keys, once a day.
local function extend_expiry(unit)
  local day = math.floor(unit.now_s / 86400)
  if tonumber(unit.day or nil) ~= day then
    redis.call('HSET', unit.meta, 'day', day)
    for _, key in ipairs({unit.meta, unit.log, unit.cursors, unit.active}) do
      redis.call('EXPIRE', key, KEPT_S)
    end
  end
end

-- Stores that *reader* is active now.
local function note_active(unit, reader)
  local since_s = unit.now_s - math.floor(tonumber(unit.epoch) / 1000000)
  if redis.call('HSET', unit.active, reader, since_s) == 1 then
    redis.call('EXPIRE', unit.active, KEPT_S)
  end
end

local function save_bounds(unit)
  redis.call('HSET', unit.meta, 'top', unit.top, 'floor', unit.floor)
end
