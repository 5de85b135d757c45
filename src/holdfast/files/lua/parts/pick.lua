-- The next file for a group: the first that nobody alive holds.
-- Expects: now_ms, feed, places.

local LOOK = 1000  -- files looked at in one go

local function pick(group)
  local floor = math.max(tonumber(redis.call('HGET', places, group) or nil) or 1, feed.low)
  local last = math.min(feed.top, floor + LOOK - 1)
  local rest, passed = {}, floor
  local function remember()  -- so that nobody looks at these files again
    if passed > floor then
      redis.call('HSET', places, group, text(passed))
    end
  end
  for number = floor, last do
    local file = file_at(number)
    local place = file and not settled(file, group) and place_of(group, number)
    if place then
      local held_ms = held_until(place) - now_ms
      if held_ms <= 0 then
        remember()
        return number, file, place
      end
      rest.held_ms = math.min(rest.held_ms or held_ms, held_ms)
    elseif passed == number then
      passed = number + 1
    end
  end
  remember()
  rest.all, rest.more = passed > feed.top, passed > last and last < feed.top
  return nil, nil, nil, rest
end
