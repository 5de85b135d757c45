-- How many consumers a feed may have.
-- Expects: now_ms, feed, consumers.

local CROWD = 1000

-- Where whoever comes may read, names come and go: the dead make room for the living.
local function forget_the_dead()
  local records = #terms.consumers == 0 and redis.call('HGETALL', consumers) or {}
  for i = 1, #records, 2 do
    if cmsgpack.unpack(records[i + 1]).until_ms <= now_ms then
      redis.call('HDEL', consumers, records[i])
    end
  end
end

-- Whether there is no place for one of this name.
local function crowded(consumer)
  if redis.call('HEXISTS', consumers, consumer) == 1 or redis.call('HLEN', consumers) < CROWD then
    return false
  end
  forget_the_dead()
  return redis.call('HLEN', consumers) >= CROWD
end
