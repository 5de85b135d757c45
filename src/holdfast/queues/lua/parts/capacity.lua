-- How many tasks may wait in a queue.

-- The capacity (0: no limit), and whether the one that was given contradicts it. The first one to
-- give one sets it.
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
