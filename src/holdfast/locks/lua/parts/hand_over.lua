-- Hands free places over.
-- Expects: places, crowd, holders, line, channel.

local CLAIM_MS = 1000         -- how long a place waits for a sign of life of its heir
local SHORTEST_CLAIM_MS = 20
local CALLED_AT_ONCE = 1000   -- waiters, mostly dead ones: a crash may leave many
local told = {}               -- words for waiters of the calling process: they need no ring
local heir, handed = '', {}   -- the first who got a place here, and all

-- Whether anybody hears *word*; where this user may not publish (ACL), they will look by themselves.
local function tell(waiter, word)
  local id, where = waiter:match('^(%S+) (%S+)$')
  if where and where == channel then
    told[#told + 1] = id .. word
    return id
  end
  return where and redis.pcall('SPUBLISH', where, id .. word) ~= 0 and id
end

-- Gives free places to those who wait longest; who does not hear of it leaves the line. Heirs that
-- stay silent cost a second, and all of a minute together two: each shortens the next claims.
local function hand_over()
  local free, given = limit - redis.call('ZCARD', holders), 0
  local ends = now_ms + math.max(SHORTEST_CLAIM_MS, math.floor(CLAIM_MS * 0.45 ^ doubts))
  for _ = 1, CALLED_AT_ONCE do
    local waiter = free > 0 and given < AT_ONCE and redis.call('ZPOPMIN', line)[1]
    if not waiter then
      break
    end
    local id = tell(waiter, string.format(' %.0f %.0f', next_fence(), ends))
    if id then
      redis.call('ZADD', holders, ends, '?' .. id)
      free, given = free - 1, given + 1
      handed[id], heir = true, heir == '' and id or heir
    end
  end
  if given > 0 then
    redis.call('PEXPIRE', holders, KEPT_MS)
    remember()
  end
  -- The last and the first in line go on at once where this ends with free places; and in doubt they
  -- see to the end of the claims.
  local look = free > 0 and now_ms or given > 0 and doubts > 0 and ends
  for n = look and -1 or 1, 0 do
    local waiter = redis.call('ZRANGE', line, n, n)[1]
    if waiter then
      tell(waiter, string.format(' 0 %.0f', look))
    end
  end
end
