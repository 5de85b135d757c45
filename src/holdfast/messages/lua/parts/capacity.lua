-- How much may wait in a mailbox. Expects: sound.

local DEFAULT_CAPACITY, DEFAULT_OVERFLOW, LARGEST = 10000, 'reject', 100000

-- The `capacity`, the `overflow` and how many messages were `dropped`; `stored_capacity` and
-- `stored_overflow` are false where nothing is stored.
local function read_capacity(meta)
  local stored = redis.call('HMGET', meta, 'capacity', 'overflow', 'dropped')
  local bound = {
    stored_capacity = stored[1], stored_overflow = stored[2],
    capacity = DEFAULT_CAPACITY, overflow = stored[2] or DEFAULT_OVERFLOW,
    dropped = whole(stored[3] or '0', 0, EXACT, 'field dropped', meta),
  }
  if stored[1] then
    bound.capacity = whole(stored[1], 1, LARGEST, 'field capacity', meta)
  end
  if bound.overflow ~= 'reject' and bound.overflow ~= 'drop_oldest' then
    damaged('field overflow', meta)
  end
  return bound
end

-- Whether what is given contradicts nothing that is stored; '' gives nothing. What is given counts.
local function agrees(bound, capacity, overflow)
  local stored_capacity, stored_overflow = bound.stored_capacity, bound.stored_overflow
  local wrong = stored_capacity and capacity ~= '' and capacity ~= stored_capacity
  if wrong or (stored_overflow and overflow ~= '' and overflow ~= stored_overflow) then
    return false
  end
  bound.capacity = tonumber(capacity) or bound.capacity
  bound.overflow = overflow ~= '' and overflow or bound.overflow
  return true
end
