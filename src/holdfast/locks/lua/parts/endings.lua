-- The end of an acquisition that may hold no permit (any more).
-- Needs the parts: ledger, contention.

-- If a call of the acquisition *id* may be *in_flight*, records that it must do nothing when it arrives.
-- Returns the reply of release.lua for an acquisition without a permit; nil if the permit is *held*.
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
