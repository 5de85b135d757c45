-- The list of a user's chats. The user's own chats have scores from 0 on. Chats to which another
-- member added the user have scores below 0, until the user does something in them.

local OTHERS = -10000000000000  -- added to their scores
local OWN = 1000   -- chats of a user that its inbox reads
local LEAST = 100  -- chats added by others that fit, however many own ones there are

-- When a chat was added (ms), by its score.
local function added_ms(score)
  return score < 0 and score - OTHERS or score
end

-- Removes the oldest chat of the member who added the most. Members who added few lose nothing.
local function remove_one(chats, added)
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

-- Removes chats added by others that do not fit. Call it after each addition: it removes two at most.
local function limit_others(chats, added)
  local others = redis.call('ZCOUNT', chats, '-inf', '(0')
  local room = math.max(LEAST, OWN - (redis.call('ZCARD', chats) - 1 - others))
  for _ = 1, math.min(2, others - room) do
    remove_one(chats, added)
  end
end
