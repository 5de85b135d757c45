-- Claims a chunk of the tasks that a step examines.
-- Needs the parts: write_limits, start_turns, may_start, claim.

-- Claims the tasks in *ids*. Returns the ids of the poison tasks that it left out, as a set.
local function claim_all(step, claims, ids, priority)
  local left_out = {}
  if #ids > 0 then
    claims.looked_at = claims.looked_at + #ids
    local bodies = redis.call('HMGET', step.keys.bodies, unpack(ids))
    local records = redis.call('HMGET', step.keys.state, unpack(ids))
    local slots = step.limits and read_slots(step.limits, ids)
    for i, id in ipairs(ids) do
      if slots then step.limits.slot = slots[i] end
      if not claim(step, claims, id, priority, bodies[i], records[i]) then left_out[id] = true end
    end
    if slots then
      if step.limits.starting then start_turns(step.limits, priority) end
      write_limits(step.limits)
    end
  end
  return left_out
end
