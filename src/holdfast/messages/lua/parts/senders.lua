-- How many messages of each sender are unread in a mailbox. The hash has up to 16 groups for each
-- sender, the oldest first: the number of the last message of the group, and its size. A limit of 16
-- or less is exact. With a larger limit, a group counts until all of its messages are read.

local GROUPS, MAX_STORED = 16, 800

-- Returns the groups with unread messages, and how many unread messages there are at most.
local function unread_of(stored, read, top)
  local groups, count = {}, 0
  stored = stored and #stored <= MAX_STORED and stored or ''
  for number, n in stored:gmatch('(%d+)=(%d+)') do
    if tonumber(number) > read and tonumber(number) <= top then
      groups[#groups + 1] = {number, tonumber(n)}
      count = count + tonumber(n)
    end
  end
  return groups, count
end

-- Returns the groups as stored, after adding message *number*. *most* is the limit of the sender.
local function count_one(groups, number, most)
  local newest = groups[#groups]
  if newest and newest[2] < math.ceil(most / GROUPS) then
    newest[1], newest[2] = number, newest[2] + 1
  else
    groups[#groups + 1] = {number, 1}
  end
  local stored = {}
  for i, group in ipairs(groups) do
    stored[i] = group[1] .. '=' .. string.format('%.0f', group[2])
  end
  return table.concat(stored, ' ')
end

-- Forgets two random senders if they have no unread messages. It runs for each new sender, so the hash
-- holds about twice as many senders as have unread messages.
local function forget_some(senders, read, top)
  local drawn = redis.call('HRANDFIELD', senders, 2, 'WITHVALUES')
  for i = 1, #drawn, 2 do
    local groups = unread_of(drawn[i + 1], read, top)
    if #groups == 0 then
      redis.call('HDEL', senders, drawn[i])
    end
  end
end
