-- Finds the next file for a group: the first unfinished one that is neither held by a live session nor paused.
-- Needs the parts: packed, feed, file, positions, attempts.

local FILES_AT_ONCE = 1000  -- files that one call checks

-- Returns number, file and position; if there is none, nil three times and a table:
--   failed   number of files that failed too often
--   held_ms  ms until the first held or paused file may be free; nil: there is none
--   all      whether the group has finished all files
--   next     number of the next file to check; false if all were checked
-- Pass `next` as *from* to continue.
local function next_file(feed, group, from)
  local floor = math.max(floor_of(feed, group), feed.low)
  local first = math.max(floor, from)
  local last = math.min(feed.top, first + FILES_AT_ONCE - 1)
  local rest, passed = {failed = 0}, floor
  local function save_floor()  -- so that the next claim skips the finished files
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
        save_floor()
        return number, file, position
      end
      rest.held_ms = math.min(rest.held_ms or held_ms, held_ms)
    elseif passed == number then
      passed = number + 1
    end
  end
  save_floor()
  rest.all, rest.next = passed > feed.top, last < feed.top and last + 1
  return nil, nil, nil, rest
end
