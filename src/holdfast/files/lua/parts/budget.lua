-- The budget: its use, and the groups that chunks are stored for.
-- Expects: feed, consumer_record, file, positions.

-- Returns the memory of a value in a hash: a class of the allocator, four to each power of two, and its
-- entry.
local function charge(bytes)
  local _, power = math.frexp(bytes + 16)
  local step = 2 ^ (power - 3)
  return math.ceil((bytes + 17) / step) * step + 96
end

-- Returns the groups with an expired lease if others are alive: files are not kept for them.
local function expired_groups(feed)
  local expired, lives = {}, feed.options.mode == 'share'
  for g, consumer in ipairs(lives and {} or feed.options.consumers) do
    local packed = redis.call('HGET', feed.consumers, consumer)
    expired[g] = not packed or record_in(feed, packed).until_ms <= feed.now_ms
    lives = lives or not expired[g]
  end
  return lives and expired or {}
end

-- Returns whether a file is kept for a group. With *expired*, not for these groups, and not if it failed too
-- often.
local function is_waited_for(file, g, expired)
  return not is_settled(file, g) and not (expired and (expired[g] or has_failed(file, g)))
end

-- Returns the first chunk that a group needs. With *unacked*, chunks that were read and not acknowledged are
-- not needed.
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
