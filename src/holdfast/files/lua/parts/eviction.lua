-- Makes room in the budget by dropping chunks and files.
-- Needs the parts: feed, consumer_record, file, positions, budget, budget_limit, retention.

local FILES_AT_ONCE = 256  -- files that one call checks

-- Drops a file unless it is kept for a group (see is_waited_for). Counts it as missed for each group that has not
-- finished it.
local function drop_unread(feed, number, file, expired)
  for g = 1, #file.done do
    if is_waited_for(file, g, expired) then
      return
    end
  end
  for g = 1, #file.done do
    if not is_settled(file, g) then
      local consumer = feed.options.mode == 'share' and position_of(feed, g, number).by or feed.options.consumers[g]
      local record = record_of(feed, consumer)
      record.missed, record.unreported = record.missed + 1, record.unreported + 1
      save_record(feed, consumer, record)
      settle_group(feed, number, file, g)
    end
  end
end

-- Drops chunks that no group needs, the oldest first, until *bytes* fit for the file *own* (nil: a new file). From a
-- file that is too large it also drops chunks that were read but not acknowledged, because otherwise its publisher and
-- its readers would wait for each other.
local function make_room(feed, bytes, own)
  local limit = budget_limit(feed, own)
  if feed.used + bytes <= limit then
    return
  end
  local expired, publishing = expired_groups(feed), redis.call('HLEN', feed.publishing)
  local function lacks_room()
    return feed.used + bytes > limit and allowance(feed) > 0
  end
  local function clear(number, file)
    local too_large = file.state == 'open' and file.kept > feed.options.budget / 2 / math.max(1, publishing)
    drop_chunks(feed, number, file, first_needed_chunk(feed, number, file, too_large, expired))
    if file.state ~= 'open' then
      drop_unread(feed, number, file, expired)
    end
    save_file(feed, number, file)
  end

  feed.low = lowest_unread(feed)
  local last = math.min(feed.top, feed.low + FILES_AT_ONCE - 1)
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
