-- The ledger: a repeated operation returns its first answer again (see core/ledger.py).

-- Returns the hash of the server's current hour, and the other one. The other one holds the hour
-- before, or the next one after the clock was set back. A writer has at most one entry in the two.
local function ledger_at(even, odd, seconds)
  local hour = math.floor(seconds / 3600)
  local this, other = even, odd
  if hour % 2 == 1 then
    this, other = odd, even
  end
  return {this = this, other = other, until_s = (hour + 2) * 3600, moves = false}
end

-- Ends the script before its first write: another program changed the entry of *writer*.
local function ledger_damaged(ledger, writer)
  local key = ledger.moves and ledger.other or ledger.this
  error({err = 'DAMAGED entry ' .. writer .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- Returns the earlier answer of this operation, nil if it is new. A *pattern* checks the answer.
local function ledger_answer(ledger, writer, number, pattern)
  local entry = redis.call('HGET', ledger.this, writer)
  if not entry then
    entry = redis.call('HGET', ledger.other, writer)
    ledger.moves = entry
  end
  if not entry then
    return nil
  end
  local last, answer = entry:match('^(%d+) (.*)$')
  if not last or #last > 15 then
    ledger_damaged(ledger, writer)
  elseif last == number then
    if pattern and not answer:match(pattern) then
      ledger_damaged(ledger, writer)
    end
    return answer
  elseif tonumber(last) > tonumber(number) then
    error({err = 'SUPERSEDED a later operation of this writer was already applied'})
  end
  return nil
end

-- Stores *answer* as that of operation *number* of *writer*.
local function ledger_write(ledger, writer, number, answer)
  if redis.call('HSET', ledger.this, writer, number .. ' ' .. answer) == 1 then
    redis.call('EXPIREAT', ledger.this, ledger.until_s)
  end
  if ledger.moves then
    redis.call('HDEL', ledger.other, writer)
  end
end
