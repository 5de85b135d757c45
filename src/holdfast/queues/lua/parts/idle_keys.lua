-- Forgets the limit keys that no task uses, and that have no start (for a rate), pause or turn to remember.
-- Needs the parts: limit_key, starts, turns.

-- Returns the key with this slot if no task uses it, and later tasks do not depend on its record: it has no pause,
-- recent start or turn. Otherwise returns nil.
local function unused_key(limits, slot)
  local admitted, limited = ADMITTED_KEY * slot, LIMITED_KEY * slot
  if redis.call('ZCOUNT', limits.admitted, admitted, admitted + ADMITTED_KEY - 1) > 0
    or redis.call('ZCOUNT', limits.limited, limited, limited + LIMITED_KEY - 1) > 0 then
    return nil
  end
  local key = key_at(limits, slot)
  local is_idle = key.not_before <= limits.now_ms and had_turn(limits, key)
    and #recent_starts(key.starts, key.definition, limits.now_ms) == 0
  return is_idle and key or nil
end

-- Examines a few keys, and forgets those that nothing uses any more. It is called for each new key, so there
-- are never many of them.
local function forget_some_keys(limits)
  for _, field in ipairs(redis.call('HRANDFIELD', limits.limit_keys, 4)) do
    local slot = field:match('^%d+$') and tonumber(field)
    local key = slot and unused_key(limits, slot)
    if key then
      redis.call('HDEL', limits.limit_keys, slot, (names_of(key)))
      limits.by_slot[slot] = nil
    end
  end
end

-- If no task with a limit key is left, lets all limit keys expire together, when the last of them has no start, pause
-- or turn to remember.
local function expire_keys(limits)
  if redis.call('ZCARD', limits.admitted) == 0 and redis.call('ZCARD', limits.limited) == 0 then
    local until_ms = tonumber(redis.call('HGET', limits.limit_keys, 'until') or 0)
    redis.call('PEXPIRE', limits.limit_keys, math.max(until_ms - limits.now_ms, 1))
    limits.persists = false
  end
end
