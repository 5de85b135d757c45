-- The positions of groups in files: see keys.py.
-- Needs the parts: stored, packed, feed, file.

local POSITION_NUMBERS = {'acked', 'read', 'counted', 'token', 'until_ms', 'tries', 'returns', 'after_ms'}

local function group_of(feed, consumer)
  if feed.options.mode == 'share' then
    return 1
  end
  for g, name in ipairs(feed.options.consumers) do
    if name == consumer then
      return g
    end
  end
end

local function position_of(feed, group, number)
  local packed = redis.call('HGET', feed.positions, group .. ':' .. text(number))
  local position = packed and unpacked(packed, POSITION_NUMBERS, 'a position', feed.positions)
    or {acked = 0, read = 0, counted = 0, session = '', token = 0, until_ms = 0, tries = 0, returns = 0, after_ms = 0}
  position.by = position.by or ''
  if type(position.session) ~= 'string' or type(position.by) ~= 'string' then
    damaged('a position', feed.positions)
  end
  return position
end

-- Returns the number of the first file that *group* may still have to read: it has finished all files below.
local function floor_of(feed, group)
  local floor = redis.call('HGET', feed.positions, group) or '1'
  return whole(floor, 0, EXACT, 'a position', feed.positions)
end

-- Returns the number of the first file that at least one group may still have to read.
local function lowest_unread(feed)
  local least = feed.top + 1
  for g = 1, groups(feed) do
    least = math.min(least, floor_of(feed, g))
  end
  return math.max(least, feed.low)
end

-- Returns when the lease of a file ends (ms): never later than the lease of its session; 0 if the session has ended.
local function lease_end_ms(feed, position)
  local lives = position.session ~= '' and redis.call('ZSCORE', feed.sessions, position.session)
  return lives and math.min(tonumber(lives), position.until_ms) or 0
end
