-- Applies limits to the tasks that a step examines.
-- Needs the parts: limit, limit_key, claim_limited.

-- Reads the keys of the tasks in *ids*, which a step examines next. Returns their slots; false for a task without a
-- permit. The caller sets `limits.slot` to that of the task that it examines.
local function read_slots(limits, ids)
  local slots, unread = redis.call('ZMSCORE', limits.admitted, unpack(ids)), {}
  limits.questions, limits.others = #ids, {}
  for n, score in ipairs(slots) do
    local at = score and score + 0
    local slot = at and (at - at % ADMITTED_KEY) / ADMITTED_KEY
    slots[n] = slot
    if slot and not limits.by_slot[slot] then
      unread[#unread + 1] = slot
    end
  end
  read_keys_at(limits, unread)
  return slots
end

-- Returns whether the limit of a task lets it start. If not, also returns whether the task has left its place in the
-- queue; otherwise it stays there and is due later.
local function may_start(step, claims, id, priority, body)
  local limits = step.limits
  local limit = limits and not limits.slot and limit_of(body)
  if not limits or not (limit or limits.slot) then
    return true
  end
  local verdict, at_ms = start_limited(limits, limit, id, priority)
  if verdict == 'starts' then
    if claims.placed[id] then claims.placed[id] = nil end  -- this step moved it to the due set; it leaves that now
    return true
  end
  claims.moved, claims.later[id], claims.placed[id] = claims.moved + 1, at_ms, verdict == 'waits'
  claims.due_at[id] = nil
  return false, verdict == 'waits'
end
