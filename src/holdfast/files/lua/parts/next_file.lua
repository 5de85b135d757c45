-- The next file for a group: the first one that no live session holds, and that has no pause.
-- Expects: packed, feed, file, positions, attempts.

local FILES_AT_ONCE = 1000  -- files that one call checks

-- *from* is the next number to check after a call that found no file.
local function next_file(feed, group, from)
  local floor = math.max(floor_of(feed, group), feed.low)
  local first = math.max(floor, from)
  local last = math.min(feed.top, first + FILES_AT_ONCE - 1)
  local rest, passed = {failed = 0}, floor
  local function remember()  -- the next claim skips these files
    if passed > floor then
      redis.call('HSET', feed.positions, group, text(passed))
    end
  end
  for number = first, last do
    local file = file_at(feed, number)
    if file and has_failed(file, group) then
      rest.failed = rest.failed + 1
    elseif file and not is_settled(file, group) then
      local position = position_of(feed, group, number)
      if position.session ~= '' and lease_end_ms(feed, position) <= feed.now_ms then
        count_abandoned(feed, group, number, position)
      end
      local held_ms = math.max(lease_end_ms(feed, position), position.after_ms) - feed.now_ms
      if held_ms <= 0 then
        remember()
        return number, file, position
      end
      rest.held_ms = math.min(rest.held_ms or held_ms, held_ms)
    elseif passed == number then
      passed = number + 1
    end
  end
  remember()
  rest.all, rest.next = passed > feed.top, last < feed.top and last + 1
  return nil, nil, nil, rest
end
