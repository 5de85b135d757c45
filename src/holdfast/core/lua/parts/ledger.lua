-- The ledger: an operation that is repeated answers what it answered (see core/ledger.py).

-- Of two hashes, the one of this hour of the server; the other one holds the hour before.
local function ledger_at(even, odd, seconds)
  local hour = math.floor(seconds / 3600)
  if hour % 2 == 0 then
    return {this = even, other = odd, until_s = (hour + 2) * 3600}
  end
  return {this = odd, other = even, until_s = (hour + 2) * 3600}
end

-- The answer that this operation gave before, nil when it is new.
local function ledger_answer(ledger, writer, number)
  local entry = redis.call('HGET', ledger.this, writer) or redis.call('HGET', ledger.other, writer)
  if not entry then
    return nil
  end
  local last, answer = entry:match('^(%d+) (.*)$')
  if tonumber(last) > tonumber(number) then
    error({err = 'SUPERSEDED a later operation of this writer was already applied'})
  end
  return last == number and answer or nil
end

local function ledger_write(ledger, writer, number, answer)
  if redis.call('HSET', ledger.this, writer, number .. ' ' .. answer) == 1 then
    redis.call('EXPIREAT', ledger.this, ledger.until_s)
  end
end
