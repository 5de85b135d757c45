-- Applies limits to the tasks that a step examines.
-- Needs the parts: limit, limit_key, claim_limited.

-- Reads the keys of the tasks in *ids*, which a step examines next.
local function read_slots(limits, ids)
  local slots = {}
  limits.questions, limits.others = #ids, {}
  for n, score in ipairs(redis.call('ZMSCORE', limits.admitted, unpack(ids))) do
    local slot = score and (score - score % ADMITTED_KEY) / ADMITTED_KEY or nil
    limits.slots[ids[n]] = slot
    if slot and not limits.by_slot[slot] then
      slots[#slots + 1] = slot
    end
  end
  read_keys_at(limits, slots)
end

-- Returns whether the limit of a task lets it start. If not, also returns whether the task has left its place in the
-- queue; otherwise it stays there and is due later.
local function may_start(step, claims, id, priority, body)
  local limits = step.limits
  local limit = limits and not limits.slots[id] and limit_of(body)
  if not limits or not (limit or limits.slots[id]) then
    return true
  end
  local verdict, at_ms = start_limited(limits, limit, id, priority)
  if verdict == 'starts' then
    claims.placed[id] = nil  -- this step may have moved it to the due set; it leaves that now
    return true
  end
  claims.moved, claims.later[id], claims.placed[id] = claims.moved + 1, at_ms, verdict == 'waits'
  claims.due_at[id] = nil
  return false, verdict == 'waits'
end
