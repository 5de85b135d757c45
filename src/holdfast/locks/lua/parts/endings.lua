-- Ends an acquisition that may not hold a permit.
-- Expects: ledger, contention.

-- Records that a call with this id, which may be in flight, must do nothing when it arrives. Returns the
-- reply for an acquisition that does not hold a permit; nil if it is *held*.
local function end_acquisition(permits, ledger, id, held, in_flight)
  if held and not in_flight then
    return nil
  end
  local answer = ledger_answer(ledger, id, '1')
  if in_flight and not answer then
    ledger_write(ledger, ended_entry(id), '1', id)
  end
  if held then
    return nil
  end
  local since, successor = (answer or ''):match('^lost (%d+) (%S*)$')
  if not since then
    return {'gone', {}}
  end
  local first = redis.call('ZRANGE', permits.holders, 0, 0)[1] or ''
  return {'lost', {}, since, successor ~= '' and successor or first}
end
