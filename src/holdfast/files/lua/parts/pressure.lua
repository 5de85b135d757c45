-- Room for more, at the cost of those who are behind.
-- Expects: feed, record, life, file, places, room, limit, keeping, opened.

local LOOK = 256  -- files looked at in one go

-- Drops a file that only groups have left that are given up, or for which it failed too often: they miss it.
local function pass_by(number, file, gone)
  for g = 1, #file.done do
    if is_waited_for(file, g, gone) then
      return
    end
  end
  for g = 1, #file.done do
    if not settled(file, g) then
      local consumer = terms.mode == 'share' and place_of(g, number).by or terms.consumers[g]
      local record = record_of(consumer)
      record.missed, record.untold = record.missed + 1, record.untold + 1
      keep_record(consumer, record)
      settle(number, file, g)
    end
  end
end

-- Drop what is not needed, the oldest first, until so many bytes fit. A file that is too large to be
-- kept whole while it is published also loses what was read and not acknowledged: else its publisher
-- and its readers would wait for each other. That may be *own*, the file that the room is for, however
-- many others lie before it.
local function make_room(bytes, own)
  local limit = limit_of(own)
  if feed.used + bytes <= limit then
    return
  end
  local gone, share = given_up(), terms.budget / 2 / math.max(1, redis.call('HLEN', opened))
  local function lacks_room()
    return feed.used + bytes > limit and allowance > 0
  end
  local function clear(number, file)
    local too_large = file.state == 'open' and file.kept > share
    drop(number, file, needed(number, file, too_large, gone))
    if file.state ~= 'open' then
      pass_by(number, file, gone)
    end
    keep_file(number, file)
  end

  feed.low = lowest()
  local last = math.min(feed.top, feed.low + LOOK - 1)
  for number = feed.low, last do
    if not lacks_room() then
      return
    end
    local file = file_at(number)
    if file then
      clear(number, file)
    elseif number == feed.low then
      feed.low = number + 1
    end
  end
  if own and own > last and lacks_room() then
    clear(own, file_at(own))
  end
end
