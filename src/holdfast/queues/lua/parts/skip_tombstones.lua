-- Removes the tombstones from ids that were taken from a ready list (see parts/tombstones).

-- Returns the *ids* that are no tombstones, and deletes the tombstones of the others.
local function without_tombstones(tombstones, ids)
  if not tombstones then
    return ids
  end
  local tasks = {}
  for _, id in ipairs(ids) do
    if redis.call('SREM', tombstones, id) == 0 then
      tasks[#tasks + 1] = id
    end
  end
  return tasks
end
