-- Leases of rows that are being loaded: the score of a row is the token of its load.
-- Needs the parts: numbers.

local ENDED_AT_ONCE = 100    -- ended leases that one call removes
local TOKEN_TTL_MS = 600000  -- lifetime of the latest token after the end of its lease

-- Returns a new token: the end of its lease (us), or more, so that it is larger than the latest token. Removes leases
-- that have ended.
local function next_token(loads, now_us, lease_ms)
  local latest = stored_number(redis.call('ZSCORE', loads, '')) or 0
  local token = text(math.max(latest + 1, now_us + lease_ms * 1000))
  redis.call('ZADD', loads, token, '')
  redis.call('PEXPIRE', loads, lease_ms + TOKEN_TTL_MS)
  local ended = redis.call('ZRANGE', loads, '-inf', text(now_us), 'BYSCORE', 'LIMIT', 0, ENDED_AT_ONCE)
  for _, id in ipairs(ended) do
    redis.call('ZREM', loads, id)
  end
  return token
end

-- Returns when the lease of a row ends (ms); nil if the row is not being loaded.
local function leased_until_ms(score, now_us)
  local ends_us = stored_number(score)
  if ends_us and ends_us > now_us then
    return math.ceil(ends_us / 1000)
  end
  return nil
end
