-- Adds chunks to counts. A chunk has counts and values, alternating.

local VALUES_PER_COMMAND = 1000

-- Adds the chunk, from the index *first* on, to *counts*.
--   before  number of values that earlier chunks of the same commit have added to *counts*
local function add(counts, chunk, first, before, kept_s)
  -- If *counts* has only values of this commit, all values of the chunk are new: one command can add many of them.
  if redis.call('ZCARD', counts) == before then
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
