-- A task that is cancelled in a ready line leaves its place behind: nobody searches a long line. No
-- later task of the same id may take that place, so as long as it stands they wait among the due ones.
-- Expects: left_over.

local any_left_over = redis.call('EXISTS', left_over) == 1

local function has_left_over(id)
  return any_left_over and redis.call('SISMEMBER', left_over, id) == 1
end
