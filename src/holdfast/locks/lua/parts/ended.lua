-- Places and waiters that come, and places whose time is over.
-- Expects: ledger, places, crowd.

-- Takes back places whose time is over. Returns those that were lost, each with when it ended. An unconfirmed grant is no
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

-- Has *id* hold a place from now on. Returns the fence.
local function hold(places, id, lease_ms)
  redis.call('ZADD', places.holders, places.now_ms + lease_ms, id)
  redis.call('PEXPIRE', places.holders, KEPT_MS)
  return remember_fence(places)
end

-- Puts *waiter* at the end of the line. Returns its ticket; the one that it has, if it waits already.
local function line_up(places, waiter)
  local line = places.line
  local last = redis.call('ZRANGE', line, 0, 0, 'REV', 'WITHSCORES')
  local ticket = string.format('%.0f', math.max((tonumber(last[2]) or 0) + 1, places.now_us))
  if redis.call('ZADD', line, 'NX', ticket, waiter) == 0 then
    ticket = redis.call('ZSCORE', line, waiter)
  end
  return ticket
end
