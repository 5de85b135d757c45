-- Counts the unread messages of each sender in a mailbox, in up to 16 groups of messages for each sender (see keys.py).
-- With a limit of 16 messages or less, each group has one message, so the count is exact. With a larger limit, all
-- messages of a group count as unread until the last one is read.

local GROUPS, MAX_STORED = 16, 800

-- Returns the groups with unread messages, and the number of messages in them.
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

-- Adds the message *number* to the groups of a sender with the limit *most*. Returns the groups in their stored form.
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

-- Removes up to two random senders that have no unread messages. It runs for each new sender, so that the hash has at
-- most about twice as many senders as have unread messages.
local function forget_some(senders, read, top)
  local drawn = redis.call('HRANDFIELD', senders, 2, 'WITHVALUES')
  for i = 1, #drawn, 2 do
    local groups = unread_of(drawn[i + 1], read, top)
    if #groups == 0 then
      redis.call('HDEL', senders, drawn[i])
    end
  end
end
