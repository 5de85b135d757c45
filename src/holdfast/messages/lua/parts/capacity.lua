-- How many messages of a mailbox may be unread. Expects: stored.

local DEFAULT_CAPACITY, DEFAULT_OVERFLOW, LARGEST = 10000, 'reject', 100000

-- Returns a table with `capacity`, `overflow`, and `dropped`: how many messages were dropped.
-- `stored_capacity` and `stored_overflow` are false if they are not stored.
local function read_capacity(meta)
  local stored = redis.call('HMGET', meta, 'capacity', 'overflow', 'dropped')
  local limits = {
    stored_capacity = stored[1], stored_overflow = stored[2],
    capacity = DEFAULT_CAPACITY, overflow = stored[2] or DEFAULT_OVERFLOW,
    dropped = whole(stored[3] or '0', 0, EXACT, 'field dropped', meta),
  }
  if stored[1] then
    limits.capacity = whole(stored[1], 1, LARGEST, 'field capacity', meta)
  end
  if limits.overflow ~= 'reject' and limits.overflow ~= 'drop_oldest' then
    damaged('field overflow', meta)
  end
  return limits
end

-- Whether the given values ('' none) equal the stored ones. If so, they replace the defaults.
local function agrees(limits, capacity, overflow)
  local stored_capacity, stored_overflow = limits.stored_capacity, limits.stored_overflow
  local differs = stored_capacity and capacity ~= '' and capacity ~= stored_capacity
  if differs or (stored_overflow and overflow ~= '' and overflow ~= stored_overflow) then
    return false
  end
  limits.capacity = tonumber(capacity) or limits.capacity
  limits.overflow = overflow ~= '' and overflow or limits.overflow
  return true
end
