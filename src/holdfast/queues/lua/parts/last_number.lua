-- Reads the number of the last task in the history of a queue. The numbers have no gaps.

-- Returns the number, or 0 if the history is empty. Uses pcall, because a history key of another type must
-- not end the script half-way.
local function last_number(history)
  local last = redis.pcall('LINDEX', history, -1)
  return type(last) == 'string' and tonumber(last:match('^(%d+):')) or 0
end
