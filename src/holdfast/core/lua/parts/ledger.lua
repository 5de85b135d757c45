-- The ledger stores the last answer of each writer, so that a repeated operation returns its first
-- answer again (see core/ledger.py).

-- Returns the ledger, as a table:
--   this      the hash of the server's current hour
--   other     the hash of the previous hour; of the next hour if the clock was set back
--   until_s   when `this` expires
--   moves     set by `ledger_answer` if the writer's entry is in `other`: `ledger_write` deletes it there
local function ledger_at(even, odd, seconds)
  local hour = math.floor(seconds / 3600)
  local this, other = even, odd
  if hour % 2 == 1 then
    this, other = odd, even
  end
  return {this = this, other = other, until_s = (hour + 2) * 3600, moves = false}
end

-- Raises the error DAMAGED, because another program has changed the entry of *writer*.
local function ledger_damaged(ledger, writer)
  local key = ledger.moves and ledger.other or ledger.this
  error({err = 'DAMAGED entry ' .. writer .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- Returns the stored answer of operation *number* of *writer*; nil if the operation is new. Raises an
-- error if the answer does not match *pattern*, or if the writer has a later operation already.
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

-- Stores *answer* as the answer to operation *number* of *writer*.
local function ledger_write(ledger, writer, number, answer)
  if redis.call('HSET', ledger.this, writer, number .. ' ' .. answer) == 1 then
    redis.call('EXPIREAT', ledger.this, ledger.until_s)
  end
  if ledger.moves then
    redis.call('HDEL', ledger.other, writer)
  end
end
