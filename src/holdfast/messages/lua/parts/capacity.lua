-- How much may wait in a mailbox. Expects: meta, whole, EXACT.

local DEFAULT_CAPACITY, DEFAULT_OVERFLOW, LARGEST = 10000, 'reject', 100000

local said = redis.call('HMGET', meta, 'capacity', 'overflow', 'dropped')
local capacity, overflow = DEFAULT_CAPACITY, said[2] or DEFAULT_OVERFLOW
local dropped = whole(said[3] or '0', 0, EXACT, 'field dropped', meta)
if said[1] then
  capacity = whole(said[1], 1, LARGEST, 'field capacity', meta)
end
if overflow ~= 'reject' and overflow ~= 'drop_oldest' then
  error({err = 'DAMAGED field overflow of ' .. meta .. ' is not what Holdfast writes'})
end

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
