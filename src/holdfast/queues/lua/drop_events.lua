#!lua flags=allow-oom
-- queues/drop_events: delete the events of tasks that were purged.
--
-- KEYS[1]  HASH    progress  id -> number:bytes:progress
-- KEYS[2]  LIST    events    the first of them: one for each task
-- ARGV[1]  string  first of the ids
-- returns  int     lists that were deleted

local FIRST = 1
local FIRST_EVENTS = 2

local function drop_all(keys, first_events)
  local dropped = 0
  for i = FIRST, #ARGV do
    if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then  -- otherwise they are those of a later task of this id
      local events = keys[first_events + i - FIRST]
      dropped = dropped + redis.call('UNLINK', events)
    end
  end
  return dropped
end

return drop_all(KEYS, FIRST_EVENTS)
