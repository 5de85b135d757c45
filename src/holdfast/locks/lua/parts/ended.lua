-- Places whose time is over.
-- Expects: ledger_write, ledger, places, crowd, holders.

local lost = {}

-- Takes them back. A silent heir is no loss to anybody, but a doubt.
local function take_back()
  local ended = redis.call(
    'ZRANGE', holders, '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, AT_ONCE, 'WITHSCORES')
  local silent = 0
  for i = 1, #ended, 2 do
    redis.call('ZREM', holders, ended[i])
    if ended[i]:sub(1, 1) == '?' then
      silent = silent + 1
    else
      lost[#lost + 1] = {ended[i], ended[i + 1]}
    end
  end
  if silent > 0 then
    doubts = doubts + silent
    redis.call('HSET', state, 'doubts', doubts, 'doubted', now_ms)
    redis.call('PEXPIRE', state, KEPT_MS)
  end
end

-- Remembers for the losers since when, and who came after them.
local function record_losses(successor)
  for _, loss in ipairs(lost) do
    ledger_write(ledger, loss[1], '1', 'lost ' .. loss[2] .. ' ' .. successor)
  end
end
