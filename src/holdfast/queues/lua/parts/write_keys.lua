-- Writes the records of keys of limits.
-- Needs the parts: limit_key.

-- Writes the records that have changed, and until when the last key must be remembered (ms). Without that, a step
-- takes it that no key is paused (see parts/may_start).
local function write_keys(limits)
  local fields, until_ms = {}, tonumber(redis.call('HGET', limits.limit_keys, 'until') or 0)
  for _, key in ipairs(limits.changed_keys) do
    fields[#fields + 1], fields[#fields + 2] = key.slot, string.format('%.0f %.0f %d %s %s', key.not_before,
      key.turn, key.priority, key.starts, (names_of(key)))
    until_ms = math.max(until_ms, key.not_before, limits.now_ms + key.definition.per_ms + 1)
  end
  redis.call('HSET', limits.limit_keys, 'until', string.format('%.0f', until_ms), unpack(fields))
  limits.changed_keys = {}
end
