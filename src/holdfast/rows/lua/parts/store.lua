-- How rows are stored, if they are not so already.
-- Expects: due, plan, troubles, now_ms, read_ms, stale_ms, absent_ms, ttl_ms, text,
-- stored_number.

local RETRY_MS = 500  -- doubled with each failure: after the first one, twice so long

local later, seen, stored = {}, {}, {}  -- what is written for all rows together: they are many
local any_trouble = redis.call('EXISTS', troubles) == 1

-- The digit of `rows/commit`. A row that is as before is not written: that would cost replicas, and
-- all who track the key. When it was seen to be so stands in the plan.
local function store(id, key, body, every)
  local fresh_ms = every or body == '-' and absent_ms or ttl_ms
  local rest = text(fresh_ms) .. ':' .. text(stale_ms) .. ':' .. body
  local kept_ms = math.ceil(fresh_ms * 1.1) + stale_ms + 2000  -- as long as it may be given out
  stored[#stored + 1] = id
  if not every then
    redis.call('SET', key, text(read_ms) .. ':' .. rest, 'PX', kept_ms)
    return 1
  end
  seen[#seen + 1], seen[#seen + 2] = id, text(every) .. ':' .. text(read_ms)
  local before = redis.call('GET', key)
  local colon = before and before:find(':', 1, true)
  if not colon or before:sub(colon + 1) ~= rest then
    redis.call('SET', key, text(read_ms) .. ':' .. rest, 'PX', 2 * kept_ms)
    return 1
  end
  local written_ms = stored_number(before:sub(1, colon - 1)) or 0
  if now_ms - written_ms > kept_ms and redis.call('PTTL', key) < kept_ms then
    redis.call('PEXPIRE', key, 2 * kept_ms)
  end
  return 2
end

local function note_stored()
  if #seen > 0 then
    redis.call('HSET', plan, unpack(seen))
  end
  if #later > 0 then
    redis.call('ZADD', due, 'XX', unpack(later))
  end
  if any_trouble and #stored > 0 then
    redis.call('HDEL', troubles, '', unpack(stored))
  end
end
