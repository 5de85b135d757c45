-- Stores loaded rows.
-- Needs the parts: numbers.
--
-- The table *written* collects values that one command then writes for all rows:
--   stored  ids of stored rows
--   later   arguments of ZADD: when rows are due next
--   seen    arguments of HSET: when rows were read

local RETRY_MS = 500  -- pause after a failed load, before it is doubled for each failure in a row: first 1 s, then 2 s

-- Stores one row and returns the digit for it (see commit.lua). *times* has `now_ms` and the arguments of commit.lua
-- that end in `_ms`. Does not write an unchanged row again: the write would be sent to the replicas, and clients that
-- track the key would drop their copies. In this case only `plan` gets the time of the read.
local function store(written, times, id, key, body, every)
  local fresh_ms = every or body == '-' and times.absent_ms or times.ttl_ms
  local rest = text(fresh_ms) .. ':' .. text(times.stale_ms) .. ':' .. body
  local kept_ms = math.ceil(fresh_ms * 1.1) + times.stale_ms + 2000  -- how long readers may get the row
  local read_ms, seen = text(times.read_ms), written.seen
  written.stored[#written.stored + 1] = id
  if not every then
    redis.call('SET', key, read_ms .. ':' .. rest, 'PX', kept_ms)
    return 1
  end
  seen[#seen + 1], seen[#seen + 2] = id, text(every) .. ':' .. read_ms
  local before = redis.call('GET', key)
  local colon = before and before:find(':', 1, true)
  if not colon or before:sub(colon + 1) ~= rest then
    redis.call('SET', key, read_ms .. ':' .. rest, 'PX', 2 * kept_ms)
    return 1
  end
  local written_ms = stored_number(before:sub(1, colon - 1)) or 0
  if times.now_ms - written_ms > kept_ms and redis.call('PTTL', key) < kept_ms then
    redis.call('PEXPIRE', key, 2 * kept_ms)
  end
  return 2
end

-- Writes the collected values. *failures* is false if the key does not exist.
local function write_stored(written, due, plan, failures)
  if #written.seen > 0 then
    redis.call('HSET', plan, unpack(written.seen))
  end
  if #written.later > 0 then
    redis.call('ZADD', due, 'XX', unpack(written.later))
  end
  if failures and #written.stored > 0 then
    redis.call('HDEL', failures, '', unpack(written.stored))
  end
end
