-- Stores a loaded row unless it is unchanged.
-- Expects: numbers.
--
-- *written* collects what is written for all rows in one command: ids that are `stored`, arguments of
-- ZADD for rows that are due `later`, and arguments of HSET for the time when they were `seen`.

local RETRY_MS = 500  -- doubled with each failure, the first one included

-- Returns the digit of `rows/commit`. *times* has `now_ms` and the arguments of that script that end in
-- `_ms`. An unchanged row is not written: that would cost replicas and clients that track the key. Only
-- the plan gets the time of the read.
local function store(written, times, id, key, body, every)
  local fresh_ms = every or body == '-' and times.absent_ms or times.ttl_ms
  local rest = text(fresh_ms) .. ':' .. text(times.stale_ms) .. ':' .. body
  local kept_ms = math.ceil(fresh_ms * 1.1) + times.stale_ms + 2000  -- as long as it may be returned
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

-- *failures* is false if there were none before.
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
