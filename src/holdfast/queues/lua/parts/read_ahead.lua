-- Reads ahead in `limited`, the tasks that are kept apart (see parts/admit). Steps ask for one limit key after the
-- other: which is the first task of this key that is kept apart? Keys get their slots in the order in which they come,
-- and mostly take turns in this order. So the next entries of `limited` often answer the next question, too.
--
-- `limits.ahead` is what was read last:
--   from, before  `found` has all entries with these scores, and the first one with the score `before`. A write to the set
--                 sets `before` to -1: nothing is known
--   size          how many entries are read at once: more if they answer several questions, otherwise fewer
--   answers       how many questions the last read has answered
--   at, last      the search begins at this place in `found` if it is for a score above `last`
-- `limits.questions` is how many keys a step asks for at once.

local MOST_AHEAD = 16

-- Returns the first task that is kept apart with a score from *first* on, and before *beyond*; nil if there is none.
local function apart_from(limits, first, beyond)
  local ahead = limits.ahead
  local found, at = ahead.found, ahead.at
  if first < ahead.from or first > ahead.before then
    ahead.size = ahead.answers > 1 and math.min(2 * ahead.size, MOST_AHEAD) or math.ceil(ahead.size / 2)
    local size = math.min(ahead.size, limits.questions)
    found, at = redis.call('ZRANGE', limits.limited, first, '+inf', 'BYSCORE', 'LIMIT', 0, size, 'WITHSCORES'), 2
    ahead.found, ahead.from, ahead.answers = found, first, 0
    ahead.before = tonumber(found[2 * size]) or math.huge
  elseif first <= ahead.last then
    at = 2
  end
  ahead.answers = ahead.answers + 1
  for i = at, #found, 2 do
    local score = found[i] + 0
    if score >= first then
      if score < beyond then
        ahead.at, ahead.last = i + 2, score
        return found[i - 1]
      end
      found[i], ahead.at, ahead.last = score, i, first  -- a number: the next question compares it again
      return nil
    end
  end
  ahead.at, ahead.last = #found + 2, first
  return nil
end
