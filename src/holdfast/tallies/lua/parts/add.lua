-- Adds a chunk to its counts. A chunk has count and value, alternating.

local VALUES_PER_COMMAND = 1000

-- *before*: number of values of the same counts that this commit has added in earlier chunks.
local function add(counts, chunk, first, before, kept_s)
  if redis.call('ZCARD', counts) == before then  -- only this commit has added values, so all of these are new
    for i = first, #chunk, 2 * VALUES_PER_COMMAND do
      redis.call('ZADD', counts, unpack(chunk, i, math.min(i + 2 * VALUES_PER_COMMAND - 1, #chunk)))
    end
  else
    for i = first, #chunk, 2 do
      redis.call('ZINCRBY', counts, chunk[i], chunk[i + 1])
    end
  end
  redis.call('EXPIRE', counts, kept_s)
end
