-- The budget: what is kept, and for whom.
-- Expects: feed, record, file, places.

-- Memory of a value in a hash: a class of the allocator, four to each power of two, and its entry.
local function charge(bytes)
  local _, power = math.frexp(bytes + 16)
  local step = 2 ^ (power - 3)
  return math.ceil((bytes + 17) / step) * step + 96
end

-- Groups without a sign of life for a lease, while others live: they hold nobody up.
local function given_up(feed)
  local gone, lives = {}, feed.terms.mode == 'share'
  for g, consumer in ipairs(lives and {} or feed.terms.consumers) do
    local packed = redis.call('HGET', feed.consumers, consumer)
    gone[g] = not packed or record_in(feed, packed).until_ms <= feed.now_ms
    lives = lives or not gone[g]
  end
  return lives and gone or {}
end

-- Whether a file is kept for a group; with *gone*, those given up, not if it failed too often for this one.
local function is_waited_for(file, g, gone)
  return not settled(file, g) and not (gone and (gone[g] or has_failed(file, g)))
end

-- The first chunk that a group needs. With *unacked*, not what was read and not acknowledged.
local function needed(feed, number, file, unacked, gone)
  local least = file.count
  for g = 1, #file.done do
    if is_waited_for(file, g, gone) then
      local place = place_of(feed, g, number)
      least = math.min(least, math.floor((unacked and place.read or place.acked) / BLOCK))
    end
  end
  return least
end
