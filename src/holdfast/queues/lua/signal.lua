#!lua
-- queues/signal: store a signal for a task that has not ended, and wake the task if it waits for it.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[4]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[5]  ZSET    due_m
-- KEYS[6]  ZSET    due_l
-- KEYS[7]  ZSET    idle    channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[8]  HASH    settings  stepped: set once a task has had steps
-- KEYS[9]  HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[10] HASH    signals  number:id -> the value of the signal
-- KEYS[11] HASH    even    ledger of even hours
-- KEYS[12] HASH    odd     ledger of odd hours
-- KEYS[13] STRING  result  of this task, once it has ended
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  id
-- ARGV[4]  string  name    of the signal
-- ARGV[5]  string  value
-- returns  string  sent; full: the task has as many signals as allowed; or the state of a task that has ended: done, dead,
--                  cancelled or unknown
-- include clock
-- include notify
-- include ledger
-- include step_index
-- include step_record
-- include waiting_signal

local MOST_SIGNALS = 100
local keys = {
  state = KEYS[2], due = {KEYS[4], KEYS[5], KEYS[6]}, settings = KEYS[8], step_index = KEYS[9], signals = KEYS[10],
}
local id, name = ARGV[3], ARGV[4]
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[11], KEYS[12], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%l+$')
if answer then
  return answer
end

-- Lets the task run now if it waits for a signal, and this one has arrived in time.
local function wake(index)
  local record = redis.call('HGET', keys.state, id) or ''
  if not record:find('^%d+:%d+:%d+:[123]:%d+:%d+:%d+:waiting: ') or not found_signal(index, index.pending) then
    return
  end
  for priority = 1, 3 do
    local due_ms = redis.call('ZSCORE', keys.due[priority], id)
    if due_ms and tonumber(due_ms) > now_ms then
      redis.call('ZADD', keys.due[priority], 'XX', now_ms, id)
      notify_one(KEYS[7], now_ms)
    end
  end
end

local function send()
  if redis.call('HEXISTS', KEYS[1], id) == 0 then
    return (redis.call('GET', KEYS[13]) or 'unknown'):match('^%l+')
  elseif redis.call('ZSCORE', KEYS[3], id) then
    return 'dead'
  end
  local index = index_of(keys, id)
  if #index.signals >= MOST_SIGNALS then
    return 'full'
  end
  index.last = index.last + 1
  table.insert(index.signals, {index.last, now_ms, name})
  redis.call('HSET', keys.signals, numbered(index.last, id), ARGV[5])
  write_index(keys, id, index)
  wake(index)
  return 'sent'
end

answer = send()
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
