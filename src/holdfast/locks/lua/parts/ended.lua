-- Places whose time is over.
-- Expects: ledger, places, crowd.

-- Takes them back. Returns those that were lost, each with when it ended. An unconfirmed grant is no
-- loss: it is counted.
local function take_back(places)
  local holders, lost, silent = places.holders, {}, 0
  local ended = redis.call(
    'ZRANGE', holders, '-inf', places.now_ms, 'BYSCORE', 'LIMIT', 0, AT_ONCE, 'WITHSCORES')
  for i = 1, #ended, 2 do
    redis.call('ZREM', holders, ended[i])
    if ended[i]:sub(1, 1) == '?' then
      silent = silent + 1
    else
      lost[#lost + 1] = {ended[i], ended[i + 1]}
    end
  end
  if silent > 0 then
    places.doubts = places.doubts + silent
    redis.call('HSET', places.state, 'doubts', places.doubts, 'doubted', places.now_ms)
    redis.call('PEXPIRE', places.state, KEPT_MS)
  end
  return lost
end

-- Remembers for the losers since when, and who came after them.
local function record_losses(ledger, lost, successor)
  for _, loss in ipairs(lost) do
    ledger_write(ledger, loss[1], '1', 'lost ' .. loss[2] .. ' ' .. successor)
  end
end
