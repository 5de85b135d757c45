-- How much of the budget a file may fill.
-- Expects: now_ms, sound, feed, file, room, opened, waiting.

local WAIT_MS = 5000  -- a publisher that waits says so again sooner

-- Of those that are published, the oldest may have all of it; the others leave half to it, and a chunk.
-- Else they would take all room while its readers wait for more.
local function limit_of(number)
  if redis.call('HLEN', opened) <= (number and 1 or 0) then
    return terms.budget
  end
  local all, oldest = redis.call('HGETALL', opened), math.huge
  for i = 1, #all, 2 do
    oldest = math.min(oldest, decimal(all[i], opened, 'a file'))
  end
  if oldest == number then
    return terms.budget
  end
  return terms.budget - math.max(0, terms.budget / 2 + charge(BLOCK) - file_at(oldest).kept)
end

-- A publisher is rung when there is room again.
local function wait_for_room(channel)
  if channel ~= '' then
    redis.call('ZADD', waiting, text(now_ms + WAIT_MS), channel)
  end
end
