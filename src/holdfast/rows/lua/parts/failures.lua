-- Counts failures to load rows.
-- Needs the parts: numbers.

local MAX_FAILED_ROWS = 1000
local REASON_BYTES = 500
local MAX_FAILURE_COUNT = 1000000
local FAILURES_TTL_MS = 3600000  -- lifetime of `failures` after the latest failure

-- Stores a failure of the row *id* ('': of the source). Returns the number of failures in a row.
local function count_failure(failures, now_ms, id, why)
  local before = redis.call('HGET', failures, id)
  local count = before and stored_number(before:match('^%d+:(%d+)')) or 0
  count = math.min(count, MAX_FAILURE_COUNT)
  if before or id == '' or redis.call('HLEN', failures) < MAX_FAILED_ROWS then
    local entry = string.format('%.0f:%d:', now_ms, count + 1) .. why:sub(1, REASON_BYTES)
    redis.call('HSET', failures, id, entry)
    redis.call('PEXPIRE', failures, FAILURES_TTL_MS)
  end
  return count + 1
end
