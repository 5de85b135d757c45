-- The stored state of a feed.
-- Needs the parts: stored, packed.
--
-- The table *feed* has the keys that a script needs, under their names in keys.py; `now_ms` and `now_us`; and, after
-- read_feed, the stored fields.

local BLOCK = 130944             -- unpacked bytes of a chunk, as in chunk.py
local MAX_NAMED_CONSUMERS = 100  -- as in options.py
local MAX_FILES = 100000         -- limits the size of `names`, which keeps the names of all files until the feed ends

-- Adds the stored fields to *feed* if the feed has begun: `definition`, `options` (the unpacked definition), `epoch`,
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

-- Returns the reply for a call that is refused: undefined, feed_lost, aborted, or conflict and the stored definition.
-- Returns nil if the call is not refused.
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
