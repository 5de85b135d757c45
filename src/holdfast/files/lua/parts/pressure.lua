-- Room for more, at the cost of those who are behind.
-- Expects: feed, record, file, places, room, limit, keeping.

local LOOK = 256  -- files looked at in one go

-- Drops a file that only groups have left that are given up, or for which it failed too often: they miss it.
local function pass_by(feed, number, file, gone)
  for g = 1, #file.done do
    if is_waited_for(file, g, gone) then
      return
    end
  end
  for g = 1, #file.done do
    if not settled(file, g) then
      local consumer = feed.terms.mode == 'share' and place_of(feed, g, number).by or feed.terms.consumers[g]
      local record = record_of(feed, consumer)
      record.missed, record.untold = record.missed + 1, record.untold + 1
      keep_record(feed, consumer, record)
      settle(feed, number, file, g)
    end
  end
end

-- Drop what is not needed, the oldest first, until so many bytes fit. A file that is too large to be
-- kept whole while it is published also loses what was read and not acknowledged: else its publisher
-- and its readers would wait for each other. That may be *own*, the file that the room is for, however
-- many others lie before it.
local function make_room(feed, bytes, own)
  local limit = limit_of(feed, own)
  if feed.used + bytes <= limit then
    return
  end
  local gone, share = given_up(feed), feed.terms.budget / 2 / math.max(1, redis.call('HLEN', feed.opened))
  local function lacks_room()
    return feed.used + bytes > limit and allowance(feed) > 0
  end
  local function clear(number, file)
    local too_large = file.state == 'open' and file.kept > share
    drop(feed, number, file, needed(feed, number, file, too_large, gone))
    if file.state ~= 'open' then
      pass_by(feed, number, file, gone)
    end
    keep_file(feed, number, file)
  end

  feed.low = lowest(feed)
  local last = math.min(feed.top, feed.low + LOOK - 1)
  for number = feed.low, last do
    if not lacks_room() then
      return
    end
    local file = file_at(feed, number)
    if file then
      clear(number, file)
    elseif number == feed.low then
      feed.low = number + 1
    end
  end
  if own and own > last and lacks_room() then
    clear(own, file_at(feed, own))
  end
end
