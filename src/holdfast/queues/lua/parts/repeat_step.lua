-- Returns the reply of a step again, when the worker repeats the step because the first reply was lost.
-- Needs the parts: ledger, progress, member_end, record, claims.

-- Returns what the step wrote to the ledger: one digit for each settlement, and the ids and tokens of its
-- claims. Raises an error if the entry is not that of a step with *settlements* settlements.
local function ledger_entry(ledger, writer, known, settlements)
  local readable, entry = pcall(cmsgpack.unpack, known)
  local accepted, granted = nil, nil
  if readable and type(entry) == 'table' then
    accepted, granted = entry[1], entry[2]
  end
  if type(accepted) ~= 'string' or #accepted ~= settlements or type(granted) ~= 'table' then
    ledger_damaged(ledger, writer)
  end
  for i = 1, #granted, 2 do
    if type(granted[i]) ~= 'string' or type(granted[i + 1]) ~= 'number' then
      ledger_damaged(ledger, writer)
    end
  end
  return accepted, granted
end

-- Returns the reply with the claims that the worker still holds, and renews their leases.
local function repeat_step(step, accepted, granted)
  local claims = no_claims()
  for i = 1, #granted, 2 do
    local id, token = granted[i], granted[i + 1]
    local task = parse_record(redis.call('HGET', step.keys.state, id))
    local body = redis.call('HGET', step.keys.bodies, id)
    if body and task.token == token and redis.call('ZSCORE', step.keys.leases, id) then
      redis.call('ZADD', step.keys.leases, 'XX', 'GT', step.now_ms + step.lease_ms, id)
      add_to_reply(claims, id, string.format('%.0f', token), task, body)
      note_steps(step, claims, id)
    end
  end
  write_ends(step)
  local any_events = progress_in(step.keys.progress) and 1 or 0
  return {-1, -1, accepted, 0, claims.reply, {}, any_events, step.member_ends, step.now_ms, 0, claims.stepped}
end
