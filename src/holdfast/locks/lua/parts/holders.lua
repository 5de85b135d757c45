-- Functions that add holders and waiters, and remove holders with expired leases.
-- Needs the parts: ledger, state, contention.

-- Removes holders with expired leases. Returns a list of {id, when its lease ended}. Leaves out
-- unconfirmed grants, but counts them in `permits.unconfirmed`.
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

-- Records in the ledger, for each lost holder, when its lease ended and the id that got its permit.
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

-- Inserts *waiter* with its *ticket* into the wait queue again if it was removed.
local function return_to_queue(permits, waiter, ticket)
  local was_queued = (tonumber(ticket) or 0) > 0
  if was_queued and redis.call('ZADD', permits.wait_queue, 'NX', ticket, waiter) == 1 then
    -- The waiter was removed although it is alive, because it did not confirm a grant in time. Make the
    -- next claims longer.
    permits.unconfirmed = math.max(0, permits.unconfirmed - 2)
    redis.call('HSET', permits.state, 'unconfirmed', permits.unconfirmed)
  end
end
