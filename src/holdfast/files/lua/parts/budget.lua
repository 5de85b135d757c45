-- The budget: how many bytes a chunk uses, and which chunks groups still need.
-- Needs the parts: feed, consumer_record, file, positions.

-- Returns the memory that a chunk of this size uses: a size class of the allocator (there are four classes for each
-- power of two), and 96 bytes for its entry in the hash.
local function charge(bytes)
  local _, power = math.frexp(bytes + 16)
  local step = 2 ^ (power - 3)
  return math.ceil((bytes + 17) / step) * step + 96
end

-- Returns group -> true for each consumer with an expired lease; empty if no consumer is alive, or with `share`. Files
-- are not kept for these groups.
local function expired_groups(feed)
  local expired, lives = {}, feed.options.mode == 'share'
  for g, consumer in ipairs(lives and {} or feed.options.consumers) do
    local packed = redis.call('HGET', feed.consumers, consumer)
    expired[g] = not packed or record_in(feed, packed).until_ms <= feed.now_ms
    lives = lives or not expired[g]
  end
  return lives and expired or {}
end

-- Returns whether a file is kept for a group: the group has not finished it. If *expired* (see expired_groups)
-- is given, a file is not kept for a group in *expired*, and not for a group that failed too often.
local function is_waited_for(file, g, expired)
  return not is_settled(file, g) and not (expired and (expired[g] or has_failed(file, g)))
end

-- Returns the index of the first chunk that at least one group needs. With *unacked*, a group does not need chunks that
-- it has read, even if it has not acknowledged them.
local function first_needed_chunk(feed, number, file, unacked, expired)
  local least = file.count
  for g = 1, #file.done do
    if is_waited_for(file, g, expired) then
      local position = position_of(feed, g, number)
      least = math.min(least, math.floor((unacked and position.read or position.acked) / BLOCK))
    end
  end
  return least
end
