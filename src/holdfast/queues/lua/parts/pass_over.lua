-- Places that cancelled tasks left behind, when their turn comes. Expects: left_over.

-- Of *ids* from the front of a ready line, those that are no places of cancelled tasks.
local function without_left_over(left_over, ids)
  if not left_over then
    return ids
  end
  local others = {}
  for _, id in ipairs(ids) do
    if redis.call('SREM', left_over, id) == 0 then
      others[#others + 1] = id
    end
  end
  return others
end
