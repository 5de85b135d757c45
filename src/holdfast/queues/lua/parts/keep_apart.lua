-- Keeps tasks apart (see parts/admit): they stay only in the set `limited` until the limit of their key allows them.
-- Needs the parts: limit_key.

-- Keeps a task apart, after the others of its key and priority.
local function keep_apart(limits, key, id, priority)
  local first = LIMITED_KEY * key.slot + LIMITED_LANE * priority
  local most = first + LIMITED_LANE - 1
  local last = redis.call('ZRANGE', limits.limited, most, first, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  local score = last[2] and math.min(tonumber(last[2]) + 1, most) or first + LIMITED_LANE / 2
  redis.call('ZADD', limits.limited, score, id)
  limits.ahead.before = -1
end

-- Keeps a task apart, before the others of its key and priority.
local function keep_first_apart(limits, key, id, priority)
  local first = LIMITED_KEY * key.slot + LIMITED_LANE * priority
  local most = first + LIMITED_LANE - 1
  local other = redis.call('ZRANGE', limits.limited, first, most, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local score = other[2] and math.max(tonumber(other[2]) - 1, first) or first + LIMITED_LANE / 2
  redis.call('ZADD', limits.limited, score, id)
  limits.ahead.before = -1
end
