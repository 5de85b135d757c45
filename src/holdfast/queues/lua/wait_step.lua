#!lua
-- queues/wait_step: begin a sleep, or a wait for a signal, of a running task, or end it if its time has come.
--
-- KEYS[1]  HASH    state   id -> token:...
-- KEYS[2]  ZSET    leases  running ids
-- KEYS[3]  HASH    settings  stepped: set once a task has had steps
-- KEYS[4]  HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[5]  HASH    steps   number:id -> how the step ended
-- KEYS[6]  HASH    signals  number:id -> the value of the signal
-- ARGV[1]  string  id
-- ARGV[2]  string  token   of the claim
-- ARGV[3]  int     number  of the step, from 1 on
-- ARGV[4]  string  kind    sleep or wait
-- ARGV[5]  string  name    of the step
-- ARGV[6]  string  signal  that it waits for; '' for a sleep
-- ARGV[7]  int     wait_ms  length of the sleep, or the timeout; -1: none
-- ARGV[8]  string  attempt
-- returns  array   ended and the record; or waits and until when (ms); or lost, full or other, as in queues/record_step
-- include clock
-- include holds
-- include step_index
-- include step_record
-- include waiting_signal

local keys = {
  state = KEYS[1], leases = KEYS[2], settings = KEYS[3], step_index = KEYS[4], steps = KEYS[5], signals = KEYS[6],
}
local id, token, number, kind, name, wait_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[7])
local now_ms = clock()
if not holds(keys, id, token) then
  return {'lost'}
end
local index = index_of(keys, id)
local record = own_record(keys, id, number, token)
if record then
  return {'ended', record}  -- it ended in this call, and the reply was lost
elseif index.count ~= number - 1 or (index.pending[1] and (index.pending[1] ~= kind or index.pending[2] ~= name)) then
  return {'other'}
end

-- Appends the record of the step, which has ended.
local function ended(outcome, value)
  record = string.format('%.0f:%s:%s:0:%s:%s:%d:%s', now_ms, token, ARGV[8], kind, outcome, #name, name) .. value
  return append_record(keys, id, index, record) and {'ended', record} or {'full'}
end

if index.count >= MOST_STEPS then
  return {'full'}
elseif not index.pending[1] then
  index.pending = {kind, name, ARGV[6], wait_ms < 0 and NEVER_MS or now_ms + wait_ms}
end
local until_ms, position = index.pending[4], found_signal(index, index.pending)
if position then
  local field = numbered(index.signals[position][1], id)
  local value = redis.call('HGET', keys.signals, field) or 'null'
  if index.bytes + #value + 1024 > MOST_STEP_BYTES then
    return {'full'}
  end
  table.remove(index.signals, position)
  redis.call('HDEL', keys.signals, field)
  return ended('done', value)
elseif until_ms <= now_ms then
  return ended(kind == 'wait' and 'late' or 'done', 'null')
end
write_index(keys, id, index)
return {'waits', string.format('%.0f', until_ms)}
