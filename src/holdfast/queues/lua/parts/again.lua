-- A step that was made before.
-- Expects: ledger, ledger_damaged, record, grant, bodies, state, leases, lease_ms, now_ms.

-- What was claimed under this number before, as far as it is still this worker's.
local function repeat_claims(before)
  for i = 1, #before, 2 do
    local id, token = before[i], before[i + 1]
    if type(id) ~= 'string' or type(token) ~= 'number' then
      ledger_damaged(ledger, ARGV[1])
    end
    local task = parse(redis.call('HGET', state, id))
    local body = redis.call('HGET', bodies, id)
    if body and task.token == token and redis.call('ZSCORE', leases, id) then
      redis.call('ZADD', leases, 'XX', 'GT', now_ms + lease_ms, id)
      answer(id, string.format('%.0f', token), task.attempts, task.crashes, body)
    end
  end
end
