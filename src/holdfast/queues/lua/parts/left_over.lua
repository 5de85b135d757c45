-- A task that is cancelled in a ready line leaves its place behind: nobody searches a long line. No
-- later task of the same id may take that place, so as long as it stands they wait among the due ones.

-- The SET of such places as the functions below take it; false while there are none.
local function left_over_in(key)
  return redis.call('EXISTS', key) == 1 and key
end

local function has_left_over(left_over, id)
  return left_over and redis.call('SISMEMBER', left_over, id) == 1
end
