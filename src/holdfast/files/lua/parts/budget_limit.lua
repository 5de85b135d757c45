-- The part of the budget that a file may fill.
-- Expects: stored, packed, feed, file, budget.

local WAIT_MS = 5000  -- a waiting publisher calls again sooner

-- The oldest file that is being published may fill the whole budget. Others leave half of it, and a chunk,
-- to the oldest one. Otherwise they could take all room while its readers wait for more.
local function budget_limit(feed, number)
  if redis.call('HLEN', feed.publishing) <= (number and 1 or 0) then
    return feed.options.budget
  end
  local all, oldest = redis.call('HGETALL', feed.publishing), math.huge
  for i = 1, #all, 2 do
    oldest = math.min(oldest, whole(all[i], 0, EXACT, 'a file', feed.publishing))
  end
  if oldest == number then
    return feed.options.budget
  end
  return feed.options.budget - math.max(0, feed.options.budget / 2 + charge(BLOCK) - file_at(feed, oldest).kept)
end

-- The publisher is notified when there is room again.
local function add_waiter(feed, channel)
  if channel ~= '' then
    redis.call('ZADD', feed.waiting, text(feed.now_ms + WAIT_MS), channel)
  end
end
