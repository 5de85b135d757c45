-- Finds the key of a limited task, and gives it a slot if it has none.
-- Needs the parts: limit, limit_key.

local MOST_SLOTS = 16777216       -- 2^24
local IN_USE_MS = 1000000000000   -- the keys do not expire while there are limited tasks

-- Stores the definition in an envelope, unless there is one of this name.
local function define_limit(limits, limit)
  if not limits.definitions[limit.name] then
    if redis.call('HEXISTS', limits.settings, 'limit:' .. limit.name) == 0 then
      redis.call('HSET', limits.settings, 'limited', '1', 'limit:' .. limit.name, limit.definition)
    end
    definition_of(limits, limit.name)
    limits.least_concurrency = nil  -- it is read again (see parts/freed_slots)
  end
end

-- Returns a number that is no slot yet. The steps between the candidates double, so that a block of used
-- slots is left soon.
local function free_slot(limits)
  local step = 1
  for _ = 1, 24 do
    local slot = redis.call('HINCRBY', limits.limit_keys, 'next', step) % MOST_SLOTS
    if redis.call('HEXISTS', limits.limit_keys, slot) == 0 then
      return slot
    end
    step = step * 2
  end
  error({err = 'FULL too many keys of limits are in use'})
end

-- Gives a slot to the key with this name.
local function new_key(limits, name)
  local slot = free_slot(limits)
  local key = parsed_key(limits, slot, '0 0 2 - ' .. name)
  limits.by_slot[slot], key.is_new = key, true
  redis.call('HSET', limits.limit_keys, name, slot)
  redis.call('HSET', limits.limit_keys, slot, '0 0 2 - ' .. name)
  return key
end

-- Returns the key of a limited task. It gets a slot if it has none, and then `is_new` is set.
local function key_of(limits, limit)
  define_limit(limits, limit)
  local name = limit.name .. ' ' .. limit.key
  local slot = redis.call('HGET', limits.limit_keys, name)
  local key = slot and key_at(limits, tonumber(slot)) or new_key(limits, name)
  if not limits.persists then
    redis.call('PEXPIRE', limits.limit_keys, IN_USE_MS)
    limits.persists = true
  end
  return key
end
