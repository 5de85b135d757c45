-- The list of a user's chats: those in which the user has done something, and far below them, in
-- scores below 0, those that others have added the user to.

local OTHERS = -10000000000000  -- added to the note of these

-- When a chat was noted (ms), by its score.
local function noted_ms(score)
  return score < 0 and score - OTHERS or score
end
