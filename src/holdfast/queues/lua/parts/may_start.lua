-- Applies limits to the tasks that a step examines.
-- Needs the parts: limit, limit_key, freed_slots, start_turns, claim_limited.

-- Returns whether any task with a permit may start, whatever the record of its key says: the limits only make their
-- keys take turns, and no key is paused. Reads the definitions and the end of the last pause, once in a step.
local function may_all_start(limits)
  if not (limits.is_changed or limits.least_concurrency) then
    read_definitions(limits)
  end
  if limits.is_paused == nil and limits.only_turns then
    limits.is_paused = tonumber(redis.call('HGET', limits.limit_keys, 'until') or 0) > limits.now_ms
  end
  return limits.only_turns and not limits.is_changed and not limits.is_paused
end

-- Reads the keys of the tasks in *ids*, which a step examines next, unless all of them may start. Returns their slots;
-- false for a task without a permit. The caller sets `limits.slot` to that of the task that it examines.
local function read_slots(limits, ids)
  local slots, unread, starting = redis.call('ZMSCORE', limits.admitted, unpack(ids)), {}, may_all_start(limits) and {}
  limits.questions, limits.others, limits.starting = #ids, {}, starting
  for n = 1, #ids do
    local at = slots[n] and slots[n] + 0
    local slot = at and (at - at % ADMITTED_KEY) / ADMITTED_KEY
    slots[n] = slot
    if not starting and slot and not limits.by_slot[slot] then
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
  local slot = limits and limits.slot
  local limit = limits and not slot and limit_of(body)
  if not (slot or limit) then
    return true
  end
  local verdict, at_ms, starting = 'starts', nil, limits.starting
  if slot and starting then
    local n = #starting
    starting[n + 1], starting[n + 2] = slot, id
  else
    if starting then start_turns(limits, priority) end  -- what comes before this task has its turn before
    verdict, at_ms = start_limited(limits, limit, id, priority)
  end
  if verdict == 'starts' then
    if claims.placed[id] then claims.placed[id] = nil end  -- this step moved it to the due set; it leaves that now
    return true
  end
  claims.moved, claims.later[id], claims.placed[id] = claims.moved + 1, at_ms, verdict == 'waits'
  claims.due_at[id] = nil
  return false, verdict == 'waits'
end
