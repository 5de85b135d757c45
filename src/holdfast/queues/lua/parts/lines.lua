-- From which lines the next tasks come.
-- Expects: pass_over, grant, claim, bodies, state, ready, due, want, now_ms.

local looked_at = 0
local CHUNK = 16             -- ids taken from a line at once
local LOOK_LIMIT = 512       -- ids looked at in one step: most may be cancelled or expired
local PASS_LIMIT = 1024      -- suspects passed over in one line; behind more nobody looks
local CLAIM_BYTES = 1048576  -- a reply must arrive within a timeout: after so much, no further chunk

local function room()
  if claimed_bytes >= CLAIM_BYTES or looked_at >= LOOK_LIMIT then
    return 0
  end
  return math.min(CHUNK, want - claims)
end

-- Claim what can be claimed of *ids*; *done* is told of each whether it leaves the line.
local function claim_all(ids, priority, done)
  if #ids == 0 then
    return
  end
  looked_at = looked_at + #ids
  local found, records = redis.call('HMGET', bodies, unpack(ids)), redis.call('HMGET', state, unpack(ids))
  for i, id in ipairs(ids) do
    done(id, claim(id, priority, found[i], records[i]))
  end
end

-- Due tasks before the others of their priority; in each line from the front.
local function claim_from(priority)
  local passed_over = 0
  while room() > 0 and passed_over < PASS_LIMIT do
    local ids, found = {}, redis.call('ZRANGE', due[priority], '-inf', now_ms, 'BYSCORE',
      'LIMIT', passed_over, room(), 'WITHSCORES')
    if #found == 0 then
      break
    end
    for i = 1, #found, 2 do
      ids[#ids + 1], due_at[found[i]] = found[i], found[i + 1]
    end
    claim_all(ids, priority, function(id, leaves)
      if leaves then
        redis.call('ZREM', due[priority], id)
      else
        passed_over, looked_at = passed_over + 1, looked_at - 1
      end
    end)
  end
  while room() > 0 do
    local ids = redis.call('LPOP', ready[priority], room())
    if not ids or #ids == 0 then
      break
    end
    local standing = without_left_over(ids)
    looked_at = looked_at + #ids - #standing
    claim_all(standing, priority, function(id, leaves)
      if not leaves then
        redis.call('ZADD', due[priority], now_ms, id)
      end
    end)
  end
end
