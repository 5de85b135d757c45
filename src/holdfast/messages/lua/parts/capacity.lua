-- How much may wait in a mailbox. Expects: meta.

local DEFAULT_CAPACITY, DEFAULT_OVERFLOW = 10000, 'reject'

local said = redis.call('HMGET', meta, 'capacity', 'overflow', 'dropped')
local capacity, overflow = tonumber(said[1]) or DEFAULT_CAPACITY, said[2] or DEFAULT_OVERFLOW
local dropped = tonumber(said[3]) or 0

-- Whether what is given contradicts nothing that was said; '' says nothing.
local function agrees(given_capacity, given_overflow)
  local wrong = said[1] and given_capacity ~= '' and given_capacity ~= said[1]
  if wrong or (said[2] and given_overflow ~= '' and given_overflow ~= said[2]) then
    return false
  end
  capacity = tonumber(given_capacity) or capacity
  overflow = given_overflow ~= '' and given_overflow or overflow
  return true
end
