-- Holders and waiters that are added, and holders with an expired lease.
-- Expects: ledger, state, contention.

-- Takes back expired permits. Returns the lost ones, each with the end of its lease. A grant that was
-- not confirmed is not a loss: it is counted.
local function take_back_expired(permits)
  local holders, lost, unconfirmed = permits.holders, {}, 0
  local expired = redis.call(
    'ZRANGE', holders, '-inf', permits.now_ms, 'BYSCORE', 'LIMIT', 0, AT_ONCE, 'WITHSCORES')
  for i = 1, #expired, 2 do
    redis.call('ZREM', holders, expired[i])
    if expired[i]:sub(1, 1) == '?' then
      unconfirmed = unconfirmed + 1
    else
      lost[#lost + 1] = {expired[i], expired[i + 1]}
    end
  end
  if unconfirmed > 0 then
    permits.unconfirmed = permits.unconfirmed + unconfirmed
    redis.call(
      'HSET', permits.state, 'unconfirmed', permits.unconfirmed, 'unconfirmed_ms', permits.now_ms)
    redis.call('PEXPIRE', permits.state, KEPT_MS)
  end
  return lost
end

-- Notes in the ledger for each lost holder when its lease ended, and who got its permit.
local function record_losses(ledger, lost, successor)
  for _, loss in ipairs(lost) do
    ledger_write(ledger, loss[1], '1', 'lost ' .. loss[2] .. ' ' .. successor)
  end
end

-- Adds *id* to the holders. Returns its fence.
local function hold(permits, id, lease_ms)
  redis.call('ZADD', permits.holders, permits.now_ms + lease_ms, id)
  redis.call('PEXPIRE', permits.holders, KEPT_MS)
  return write_fence(permits)
end

-- Adds *waiter* to the end of the wait queue, unless it is queued. Returns its ticket.
local function enqueue(permits, waiter)
  local queue = permits.wait_queue
  local last = redis.call('ZRANGE', queue, 0, 0, 'REV', 'WITHSCORES')
  local ticket = string.format('%.0f', math.max((tonumber(last[2]) or 0) + 1, permits.now_us))
  if redis.call('ZADD', queue, 'NX', ticket, waiter) == 0 then
    ticket = redis.call('ZSCORE', queue, waiter)
  end
  return ticket
end
