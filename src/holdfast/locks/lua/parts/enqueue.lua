-- Appends waiters to a wait queue.
-- Needs the parts: stored, state.

-- Appends *waiter* to a wait queue, unless it is queued already. Returns its ticket: at least the server's time in
-- microseconds. The lifetime of the queue is extended once an hour.
local function enqueue(wait_queue, waiter, now_us)
  local last = redis.call('ZRANGE', wait_queue, 0, 0, 'REV', 'WITHSCORES')
  local last_ticket = tonumber(last[2]) or 0
  local ticket = math.max(last_ticket + 1, now_us)
  local text = string.format('%.0f', ticket)
  if redis.call('ZADD', wait_queue, 'NX', text, waiter) == 0 then
    return redis.call('ZSCORE', wait_queue, waiter)
  end
  if math.floor(ticket / HOUR_US) ~= math.floor(last_ticket / HOUR_US) then
    redis.call('PEXPIRE', wait_queue, KEPT_MS)
  end
  return text
end

-- Appends *waiter*, a new acquisition of a lock, to the wait queue if one other client holds the lock, and if no
-- acquisition was ended or lost recently (the ledger is empty). Returns the reply of acquire.lua; nil if this is not so.
local function queue_behind(holders, wait_queue, even, odd, waiter, now_ms, now_us)
  local held = redis.call('ZRANGE', holders, 0, 1, 'WITHSCORES')
  if not held[1] or held[3] or tonumber(held[2]) <= now_ms then
    return nil
  end
  local holder = held[1]:gsub('^%?', '')
  if waiter:find(holder .. ' ', 1, true) == 1 or redis.call('EXISTS', even, odd) > 0 then
    return nil
  end
  local ticket = enqueue(wait_queue, waiter, now_us)
  return {'queued', {}, ticket, string.format('%.0f', now_ms), held[2], holder}
end
