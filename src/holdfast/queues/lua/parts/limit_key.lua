-- The limit keys. Each one in use has a slot, which is a number (no hash slot), and a record (see queues/keys.py).
-- Needs the parts: limit.

local LIMITED_KEY = 268435456   -- 2^28: how many scores of `limited` belong to one slot
local LIMITED_LANE = 67108864   -- 2^26: how many of them belong to each priority
local ADMITTED_KEY = 4          -- how many scores of `admitted` belong to one slot: 0 for running, or a priority

-- Parses the record of the key with this slot. A key without a record has no limits.
local function parsed_key(limits, slot, record)
  record = record or ''
  local not_before, turn, priority, starts, name = 0, 0, 2, '-', record:match('^0 0 2 %- (%S+) %S+$')
  if not name then
    not_before, turn, priority, starts, name = record:match('^(%d+) (%d+) ([123]) (%S+) (%S+) %S+$')
    not_before, turn, priority = tonumber(not_before) or 0, tonumber(turn) or 0, tonumber(priority) or 2
  end
  return {
    slot = slot, not_before = not_before, turn = turn, priority = priority, starts = starts or '-', record = record,
    definition = definition_of(limits, name or '-'),
  }
end

-- Returns `NAME KEY` of a key, and NAME alone. Few scripts need this, so `parsed_key` does not copy it.
local function names_of(key)
  local names, name = key.record:match('^%d+ %d+ [123] %S+ ((%S+) %S+)$')
  return names or '- -', name or '-'
end

-- Reads the keys with these slots at once.
local function read_keys_at(limits, slots)
  if #slots > 0 then
    for n, record in ipairs(redis.call('HMGET', limits.limit_keys, unpack(slots))) do
      limits.by_slot[slots[n]] = limits.by_slot[slots[n]] or parsed_key(limits, slots[n], record)
    end
  end
end

-- Returns the key with this slot.
local function key_at(limits, slot)
  local key = limits.by_slot[slot]
  if not key then
    key = parsed_key(limits, slot, redis.call('HGET', limits.limit_keys, slot))
    limits.by_slot[slot] = key
  end
  return key
end

-- Stores the record of *key*, with the other writes (see parts/write_limits).
local function write_key(limits, key)
  table.insert(limits.changed_keys, key)
end
