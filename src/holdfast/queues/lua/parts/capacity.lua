-- The number of tasks that may be queued or delayed at once.

-- Returns the capacity (0: no limit), and whether *given* contradicts it. The first capacity that is
-- given is stored; '' gives none.
local function capacity_of(settings, given)
  local stored = tonumber(redis.call('HGET', settings, 'capacity') or nil)
  if given == '' then
    return stored or 0, false
  end
  if not stored then
    redis.call('HSET', settings, 'capacity', given)
    return tonumber(given), false
  end
  return stored, stored ~= tonumber(given)
end
