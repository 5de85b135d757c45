-- Limits the list of a user's chats. The user's own chats have scores of 0 or more. Chats to which another member added
-- the user have scores below 0 until the user is active in them.

local OTHERS = -10000000000000  -- added to the scores of chats that others added
local OWN = 1000                -- number of the user's own chats that an inbox reads
local LEAST = 100               -- number of chats added by others for which there is always room

-- Returns when a chat was added (ms), from its score.
local function added_ms(score)
  return score < 0 and score - OTHERS or score
end

-- Removes the oldest chat of the member who added the user to the most chats, so that one member cannot displace the
-- chats of others.
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

-- If others added the user to too many chats, removes one or two of these. Call this after each addition.
local function limit_others(chats, added)
  local others = redis.call('ZCOUNT', chats, '-inf', '(0')
  local room = math.max(LEAST, OWN - (redis.call('ZCARD', chats) - 1 - others))
  for _ = 1, math.min(2, others - room) do
    remove_one(chats, added)
  end
end
