-- A step that was made before.
-- Expects: ledger, record, grant.

-- Its answer in the ledger: digits of its verdicts, and what was claimed, id and token one after the
-- other. Ends the script if that is not what a step with so many *verdicts* writes.
local function settled_and_granted(ledger, writer, known, verdicts)
  local readable, before = pcall(cmsgpack.unpack, known)
  local settled, granted = nil, nil
  if readable and type(before) == 'table' then
    settled, granted = before[1], before[2]
  end
  if type(settled) ~= 'string' or #settled ~= verdicts or type(granted) ~= 'table' then
    ledger_damaged(ledger, writer)
  end
  for i = 1, #granted, 2 do
    if type(granted[i]) ~= 'string' or type(granted[i + 1]) ~= 'number' then
      ledger_damaged(ledger, writer)
    end
  end
  return settled, granted
end

-- Answers with what was *granted* before, as far as it is still this worker's.
local function repeat_claims(step, claims, granted)
  for i = 1, #granted, 2 do
    local id, token = granted[i], granted[i + 1]
    local task = parse_record(redis.call('HGET', step.state, id))
    local body = redis.call('HGET', step.bodies, id)
    if body and task.token == token and redis.call('ZSCORE', step.leases, id) then
      redis.call('ZADD', step.leases, 'XX', 'GT', step.now_ms + step.lease_ms, id)
      answer_with(step, claims, id, string.format('%.0f', token), task.attempts, task.crashes, body)
    end
  end
end
