-- Where the groups stand in the files: see keys.py.
-- Expects: sound, feed, file, places, alive.

local PLACE = {'acked', 'read', 'counted', 'token', 'until_ms', 'tries', 'returns', 'after_ms'}

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

local function place_of(group, number)
  local packed = redis.call('HGET', places, group .. ':' .. text(number))
  local place = packed and unpacked(packed, places, 'a place', PLACE)
    or {acked = 0, read = 0, counted = 0, session = '', token = 0, until_ms = 0, tries = 0, returns = 0, after_ms = 0}
  place.by = place.by or ''
  if type(place.session) ~= 'string' or type(place.by) ~= 'string' then
    damaged(places, 'a place')
  end
  return place
end

-- No file below this number is left for a group.
local function floor_of(group)
  return decimal(redis.call('HGET', places, group) or '1', places, 'a place')
end

-- Nothing below this number is left for anybody.
local function lowest()
  local least = feed.top + 1
  for g = 1, groups() do
    least = math.min(least, floor_of(g))
  end
  return math.max(least, feed.low)
end

-- A file is held as long as its session lives, and says that it has the file open.
local function held_until(place)
  local lives = place.session ~= '' and redis.call('ZSCORE', alive, place.session)
  return lives and math.min(tonumber(lives), place.until_ms) or 0
end
