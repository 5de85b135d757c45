-- Limits the part of the budget that a file may use, and registers publishers that wait for room.
-- Needs the parts: stored, packed, feed, file, budget.

local WAIT_MS = 5000  -- a waiting publisher calls again sooner than that

-- Returns how many bytes of the budget may be in use after a chunk of file *number* (nil: a new file) is stored. The
-- oldest file that is being published may use the whole budget. Other files leave half of the budget, and one chunk,
-- to the oldest file. Otherwise they could use up the budget while the readers of the oldest file wait for its next
-- chunk.
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

-- Registers the channel of a publisher, so that the publisher is notified when the budget has room again.
local function add_waiter(feed, channel)
  if channel ~= '' then
    redis.call('ZADD', feed.waiting, text(feed.now_ms + WAIT_MS), channel)
  end
end
