-- How much of the budget a file may fill.
-- Expects: sound, stored, feed, file, room.

local WAIT_MS = 5000  -- a publisher that waits says so again sooner

-- Of those that are published, the oldest may have all of it; the others leave half to it, and a chunk.
-- Otherwise they would take all room while its readers wait for more.
local function limit_of(feed, number)
  if redis.call('HLEN', feed.opened) <= (number and 1 or 0) then
    return feed.terms.budget
  end
  local all, oldest = redis.call('HGETALL', feed.opened), math.huge
  for i = 1, #all, 2 do
    oldest = math.min(oldest, whole(all[i], 0, EXACT, 'a file', feed.opened))
  end
  if oldest == number then
    return feed.terms.budget
  end
  return feed.terms.budget - math.max(0, feed.terms.budget / 2 + charge(BLOCK) - file_at(feed, oldest).kept)
end

-- A publisher is notified when there is room again.
local function wait_for_room(feed, channel)
  if channel ~= '' then
    redis.call('ZADD', feed.waiting, text(feed.now_ms + WAIT_MS), channel)
  end
end
