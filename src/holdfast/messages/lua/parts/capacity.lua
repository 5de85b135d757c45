-- Settings of a mailbox: how many messages may be unread, and what happens to more. Needs the parts: stored, definition.

local DEFAULT_CAPACITY, DEFAULT_OVERFLOW, LARGEST = 10000, 'reject', 100000

-- Returns a table:
--   capacity, overflow                the settings in force
--   stored_capacity, stored_overflow  the stored settings; false if they are not stored
--   dropped                           number of messages that were dropped
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

-- Changes *limits* to the settings that a sender gives (*given*). Returns the settings to store (fields and values,
-- alternating), and what to report to the sender (nil: nothing):
--   'conflict'   a stored value differs and the sender wants an error, so nothing is to be stored
--   'kept'       a stored value differs, and stays in effect
local function apply_settings(limits, given)
  local changed, kept = {}, nil
  for _, field in ipairs({'capacity', 'overflow'}) do
    local value, verdict = define(limits['stored_' .. field], given[field])
    if verdict == 'conflict' then
      return {}, verdict
    elseif verdict == 'store' then
      changed[#changed + 1], changed[#changed + 2] = field, value
      limits[field] = tonumber(value) or value
    end
    kept = kept or verdict == 'kept'
  end
  return changed, kept and 'kept' or nil
end
