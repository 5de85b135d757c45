-- Finds logs without news for a reader. It uses few commands for many logs, because calling a command from Lua takes
-- longer than its work.

local SMALL = 16  -- a chat with at most this number of members counts as small
local TRIES = 8   -- number of chats that are examined to find a small one

-- Returns whether one of the first TRIES sets in *cursors* is small.
local function has_small(cursors)
  for i = 1, math.min(TRIES, #cursors) do
    if redis.call('ZCARD', cursors[i]) <= SMALL then
      return true
    end
  end
  return false
end

-- Returns the members that are in all these sets, each followed by the sum of its scores. The time grows with the
-- size of the smallest set.
local function common_members(cursors)
  local names = {#cursors, unpack(cursors)}
  names[#names + 1] = 'WITHSCORES'
  return redis.call('ZINTER', unpack(names))
end

-- Returns the sum of the scores of *reader* in the sets *cursors*; nil if it is not in all of them.
local function sum_of_scores(cursors, reader)
  local sum, common = nil, has_small(cursors) and common_members(cursors)
  for i = 1, common and #common or 0, 2 do
    sum = common[i] == reader and tonumber(common[i + 1]) or sum
  end
  for i = 1, common and 0 or #cursors do
    local score = redis.call('ZSCORE', cursors[i], reader)
    if not score then
      return nil
    end
    sum = (sum or 0) + tonumber(score)
  end
  return sum
end

-- Returns the set of those *logs* that have no news for *reader*: the newest message has the id in *ids*, and *reader*
-- has acknowledged it. *sum* is the sum of the numbers in *ids*. While a log has no later message, no cursor is higher
-- than the number in its id. So if the cursors have the same sum, each of them is as high as the number.
local function quiet_logs(logs, ids, cursors, reader, sum)
  local names, count, news, quiet = {}, #logs, {}, {}
  for i = 1, count do
    names[i], names[count + i] = logs[i], ids[i]
  end
  for _, each in ipairs(redis.call('XREAD', 'COUNT', 1, 'STREAMS', unpack(names)) or {}) do
    news[each[1]] = true
  end
  local left = sum_of_scores(cursors, reader)
  for i = 1, left and count or 0 do
    quiet[logs[i]] = not news[logs[i]]
    if news[logs[i]] then
      left, sum = left - redis.call('ZSCORE', cursors[i], reader), sum - ids[i]:match('^%d+')
    end
  end
  return left == sum and quiet or {}
end
