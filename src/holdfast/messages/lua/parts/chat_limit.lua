-- How many chats others may put into a list.

local OWN = 1000   -- chats of a user, as far as they are looked at
local LEAST = 100  -- chats of others have so much room, however many the user has

-- Takes off the oldest one of who has added the most; so who adds many loses only their own.
local function take_one_off(chats, added)
  local ids = redis.call('ZRANGE', chats, '-inf', '(0', 'BYSCORE', 'LIMIT', 0, OWN + LEAST)
  local adders, counts, most = redis.call('HMGET', added, unpack(ids)), {}, 0
  for i = 1, #ids do
    local by = adders[i] or ''
    counts[by] = (counts[by] or 0) + 1
    most = math.max(most, counts[by])
  end
  for i, id in ipairs(ids) do
    if counts[adders[i] or ''] == most then
      redis.call('ZREM', chats, id)
      redis.call('HDEL', added, id)
      return
    end
  end
end

-- Call it after each change: it takes off more than one may have added.
local function make_room(chats, added)
  local others = redis.call('ZCOUNT', chats, '-inf', '(0')
  local room = math.max(LEAST, OWN - (redis.call('ZCARD', chats) - 1 - others))
  for _ = 1, math.min(2, others - room) do
    take_one_off(chats, added)
  end
end
