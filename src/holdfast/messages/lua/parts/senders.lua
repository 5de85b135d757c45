-- How much of each sender waits in a mailbox. Of a sender the hash has up to 16 parts, the oldest
-- first: the number of the last message of each, and how many it counts. So a bound of 16 and less
-- is exact, and of a larger one a part is free again when all of it is read.

local PARTS, LONGEST_STORED = 16, 800

-- The parts that are unread, and how many messages that is at most.
local function unread_of(stored, read, top)
  local parts, count = {}, 0
  stored = stored and #stored <= LONGEST_STORED and stored or ''
  for number, n in stored:gmatch('(%d+)=(%d+)') do
    if tonumber(number) > read and tonumber(number) <= top then
      parts[#parts + 1] = {number, tonumber(n)}
      count = count + tonumber(n)
    end
  end
  return parts, count
end

-- The parts with one message more.
local function counted(parts, number, most)
  local newest = parts[#parts]
  if newest and newest[2] < math.ceil(most / PARTS) then
    newest[1], newest[2] = number, newest[2] + 1
  else
    parts[#parts + 1] = {number, 1}
  end
  local stored = {}
  for i, part in ipairs(parts) do
    stored[i] = part[1] .. '=' .. string.format('%.0f', part[2])
  end
  return table.concat(stored, ' ')
end

-- Two senders drawn by lot are forgotten if nothing of theirs is unread: as one is noted for two
-- that are looked at, the hash holds about twice as many as have unread messages.
local function forget_some(senders, read, top)
  local drawn = redis.call('HRANDFIELD', senders, 2, 'WITHVALUES')
  for i = 1, #drawn, 2 do
    local parts = unread_of(drawn[i + 1], read, top)
    if #parts == 0 then
      redis.call('HDEL', senders, drawn[i])
    end
  end
end
