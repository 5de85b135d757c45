-- The budget: what is kept, and for whom.
-- Expects: now_ms, feed, places, consumers.

-- Memory of a value in a hash: a class of the allocator, four to each power of two, and its entry.
local function charge(bytes)
  local _, power = math.frexp(bytes + 16)
  local step = 2 ^ (power - 3)
  return math.ceil((bytes + 17) / step) * step + 96
end

-- Groups without a sign of life for a lease, while others live: they hold nobody up.
local function given_up()
  local gone, lives = {}, terms.mode == 'share'
  for g, consumer in ipairs(lives and {} or terms.consumers) do
    local packed = redis.call('HGET', consumers, consumer)
    gone[g] = not packed or cmsgpack.unpack(packed).until_ms <= now_ms
    lives = lives or not gone[g]
  end
  return lives and gone or {}
end

-- The first chunk that somebody needs; those given up need none. *unacked* also lets go what was read
-- and not acknowledged.
local function needed(number, file, unacked, gone)
  local least = file.count
  for g = 1, #file.done do
    if not settled(file, g) and not gone[g] then
      local place = place_of(g, number)
      least = math.min(least, math.floor((unacked and place.read or place.acked) / BLOCK))
    end
  end
  return least
end
