-- Adds a part, which is an array of different values and their counts, to its sums.

local TOGETHER = 1000  -- values in one command, which costs less than one for each

local function add(sums, part, first, kept_s)
  for from = first, #part, 2 * TOGETHER do
    local values, scores = {}, {}
    for i = from, math.min(from + 2 * TOGETHER, #part) - 1, 2 do
      values[#values + 1] = part[i]
    end
    local known = redis.call('ZMSCORE', sums, unpack(values))
    for n, value in ipairs(values) do
      scores[2 * n - 1], scores[2 * n] = (known[n] or 0) + part[from + 2 * n - 1], value
    end
    redis.call('ZADD', sums, unpack(scores))
  end
  redis.call('EXPIRE', sums, kept_s)
end
