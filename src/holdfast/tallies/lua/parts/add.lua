-- Adds a part, which is an array of values and counts, to its sums.

local function add(sums, part, first, kept_s)
  for i = first, #part, 2 do
    redis.call('ZINCRBY', sums, part[i + 1], part[i])
  end
  redis.call('EXPIRE', sums, kept_s)
end
