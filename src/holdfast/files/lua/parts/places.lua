-- Where the groups stand in the files: see keys.py.
-- Expects: feed, files, places, alive.

local function group_of(consumer)
  if terms.mode == 'share' then
    return 1
  end
  for g, name in ipairs(terms.consumers) do
    if name == consumer then
      return g
    end
  end
end

local function groups()
  return terms.mode == 'share' and 1 or #terms.consumers
end

local function file_at(number)
  local packed = redis.call('HGET', files, text(number))
  return packed and cmsgpack.unpack(packed)
end

local function place_of(group, number)
  local packed = redis.call('HGET', places, group .. ':' .. text(number))
  return packed and cmsgpack.unpack(packed)
    or {acked = 0, read = 0, counted = 0, session = '', token = 0}
end

-- Nothing below this number is left for anybody.
local function lowest()
  local least = feed.top + 1
  for g = 1, groups() do
    least = math.min(least, tonumber(redis.call('HGET', places, g) or nil) or 1)
  end
  return math.max(least, feed.low)
end

local function held_until(place)
  return place.session ~= '' and tonumber(redis.call('ZSCORE', alive, place.session) or nil) or 0
end

local function settled(file, group)
  return file.done:sub(group, group) == '1'
end
