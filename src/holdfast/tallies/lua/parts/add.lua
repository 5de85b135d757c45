-- Adds a part to its sums: a count and its value, again and again.

local TOGETHER = 1000  -- values in one command, where they need not go one by one

-- *before*: so many values of the same sums are of earlier parts of this commit, and have been added.
local function add(sums, part, first, before, kept_s)
  if redis.call('ZCARD', sums) == before then  -- there are no others: so all of these are new
    for i = first, #part, 2 * TOGETHER do
      redis.call('ZADD', sums, unpack(part, i, math.min(i + 2 * TOGETHER - 1, #part)))
    end
  else
    for i = first, #part, 2 do
      redis.call('ZINCRBY', sums, part[i], part[i + 1])
    end
  end
  redis.call('EXPIRE', sums, kept_s)
end
