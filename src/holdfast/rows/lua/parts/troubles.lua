-- What could not be loaded, and why.
-- Expects: text.

local MOST_TROUBLES = 1000
local TROUBLE_BYTES = 500    -- of a reason
local MOST_FAILURES = 1000000  -- that are counted
local TROUBLES_MS = 3600000  -- kept so long after the latest

-- How often it has failed now in a row.
local function note_trouble(troubles, now_ms, id, why)
  local before = redis.call('HGET', troubles, id)
  local failures = before and stored_number(before:match('^%d+:(%d+)')) or 0
  failures = math.min(failures, MOST_FAILURES)
  if before or id == '' or redis.call('HLEN', troubles) < MOST_TROUBLES then
    local entry = string.format('%.0f:%d:', now_ms, failures + 1) .. why:sub(1, TROUBLE_BYTES)
    redis.call('HSET', troubles, id, entry)
    redis.call('PEXPIRE', troubles, TROUBLES_MS)
  end
  return failures + 1
end
