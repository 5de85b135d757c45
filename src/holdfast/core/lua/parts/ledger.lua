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
  -- Both are asked: after the clock was set back, the older entry may be the one of this hour.
  local last, answer = '0', nil
  for _, key in ipairs({ledger.this, ledger.other}) do
    local entry = redis.call('HGET', key, writer)
    if entry and tonumber(entry:match('^%d+')) > tonumber(last) then
      last, answer = entry:match('^(%d+) (.*)$')
    end
  end
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
