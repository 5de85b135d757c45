-- Where the groups stand in the files: see keys.py.
-- Expects: sound, stored, feed, file.

local PLACE = {'acked', 'read', 'counted', 'token', 'until_ms', 'tries', 'returns', 'after_ms'}

local function group_of(feed, consumer)
  if feed.terms.mode == 'share' then
    return 1
  end
  for g, name in ipairs(feed.terms.consumers) do
    if name == consumer then
      return g
    end
  end
end

local function place_of(feed, group, number)
  local packed = redis.call('HGET', feed.places, group .. ':' .. text(number))
  local place = packed and unpacked(packed, PLACE, 'a place', feed.places)
    or {acked = 0, read = 0, counted = 0, session = '', token = 0, until_ms = 0, tries = 0, returns = 0, after_ms = 0}
  place.by = place.by or ''
  if type(place.session) ~= 'string' or type(place.by) ~= 'string' then
    damaged('a place', feed.places)
  end
  return place
end

-- No file below this number is left for a group.
local function floor_of(feed, group)
  local floor = redis.call('HGET', feed.places, group) or '1'
  return whole(floor, 0, EXACT, 'a place', feed.places)
end

-- Nothing below this number is left for anybody.
local function lowest(feed)
  local least = feed.top + 1
  for g = 1, groups(feed) do
    least = math.min(least, floor_of(feed, g))
  end
  return math.max(least, feed.low)
end

-- A file is held as long as its session lives, and says that it has the file open.
local function held_until(feed, place)
  local lives = place.session ~= '' and redis.call('ZSCORE', feed.alive, place.session)
  return lives and math.min(tonumber(lives), place.until_ms) or 0
end
