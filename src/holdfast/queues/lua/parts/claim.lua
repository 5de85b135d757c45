-- Claims one task for the worker that makes the step.
-- Needs the parts: unique, own_key, record, claims, may_start, claim_known.

-- Claims the task *id*. Returns whether the id leaves its list or due set: the task is claimed, has expired, has
-- another place now, or does not exist.
local function claim(step, claims, id, priority, body, record)
  if claims.taken[id] then
    return true
  elseif not body then  -- there is no such task: another program has queued the id
    redis.call('HDEL', step.keys.state, id)
    return true
  end
  if record or step.any_expiring then
    return claim_known(step, claims, id, priority, body, parse_record(record))
  end
  local starts, leaves = may_start(step, claims, id, priority, body)
  if not starts then
    return leaves
  end
  -- The first claim of a plain task, by far the most frequent case, takes the fast path.
  local unique = unique_of(body)
  local first = step.new_token .. ':1:0:' .. priority .. ':0:0:0:' .. note_of(step, claims, id, unique, body)
  add_claim(step, claims, id, step.now_us, first)
  if unique then
    update_key(step, id, 'started', body)
  end
  add_to_reply(claims, id, step.new_token, step.first_claim, body)
  return true
end
