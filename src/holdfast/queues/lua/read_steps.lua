#!lua flags=no-writes
-- queues/read_steps: return the next steps of a task, and what it waits for.
--
-- KEYS[1]  HASH    state   id -> token:...
-- KEYS[2]  ZSET    leases  running ids
-- KEYS[3]  HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[4]  HASH    steps   number:id -> how the step ended
-- ARGV[1]  string  id
-- ARGV[2]  string  token   of the claim; '' if the caller does not run the task
-- ARGV[3]  int     first   number of the first step, from 1 on
-- ARGV[4]  int     most    bytes of each record; 0: all
-- returns  array   held, or lost if the worker does not hold the task; number of steps; kind, name, signal and end (ms)
--                  of the sleep or wait that has begun, or ''; names of the signals that no wait has taken, with blanks
--                  between; then the records, as many as fit into the reply
-- include clock
-- include holds
-- include step_index

local REPLY_BYTES = 1048576  -- the last record may exceed it
local PAGE = 100             -- records read by one command
local keys = {state = KEYS[1], leases = KEYS[2], step_index = KEYS[3], steps = KEYS[4]}
local id, token, first, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
clock()
if token ~= '' and not holds(keys, id, token) then
  return {'lost', 0, '', '', '', '0', ''}
end
local index, bytes, sent = index_of(keys, id), 0, {}
for n, signal in ipairs(index.signals) do
  sent[n] = signal[3]
end
local pending = index.pending
local reply = {
  'held', index.count, pending[1] or '', pending[2] or '', pending[3] or '', string.format('%.0f', pending[4] or 0),
  table.concat(sent, ' '),
}
for number = first, math.min(index.count, first + PAGE - 1) do
  local record = redis.call('HGET', keys.steps, numbered(number, id)) or ''
  record = most > 0 and record:sub(1, most) or record
  reply[#reply + 1], bytes = record, bytes + #record
  if bytes >= REPLY_BYTES then
    break
  end
end
return reply
