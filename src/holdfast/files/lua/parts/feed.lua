-- The stored state of a feed.
-- Expects: stored, packed.
--
-- *feed* has the keys that a script needs, by their names in keys.py; `now_ms` and `now_us`.

local BLOCK = 130944        -- unpacked bytes of a chunk, as in chunk.py
local MAX_NAMED_CONSUMERS = 100  -- as in options.py
local MAX_FILES = 100000         -- their names are stored

-- Adds to *feed* what is stored, if it has begun: its `definition` and the same unpacked, `options`; `epoch`,
-- `state`, `used`, `top`, `low` and `left`.
local function read_feed(feed)
  local meta = feed.meta
  local known = redis.call('HMGET', meta, 'definition', 'epoch', 'state', 'used', 'top', 'low', 'left')
  if not known[1] then
    return
  end
  local options = unpacked(known[1], {'budget', 'lease_ms'}, 'the definition', meta)
  if type(options.consumers) ~= 'table' or #options.consumers > MAX_NAMED_CONSUMERS then
    damaged('the definition', meta)
  end
  whole(known[2], 0, EXACT, 'epoch', meta)
  feed.definition, feed.options, feed.epoch, feed.state = known[1], options, known[2], known[3]
  feed.used = whole(known[4], 0, EXACT, 'used', meta)
  feed.top = whole(known[5], 0, MAX_FILES, 'top', meta)
  feed.low = whole(known[6], 0, MAX_FILES + 1, 'low', meta)
  feed.left = whole(known[7], 0, EXACT, 'left', meta)
end

-- Returns the reason why a call is refused; nil if it is not.
local function refusal(feed, definition, epoch)
  if not feed.definition then
    return {epoch == '' and 'undefined' or 'feed_lost'}
  elseif epoch ~= '' and epoch ~= feed.epoch then
    return {'feed_lost'}
  elseif feed.state == 'aborted' then
    return {'aborted'}
  elseif definition ~= '' and definition ~= feed.definition then
    return {'conflict', feed.definition}
  end
end
