#!lua
-- queues/record_step: store how a step of a running task ended, once.
--
-- KEYS[1]  HASH    state   id -> token:...
-- KEYS[2]  ZSET    leases  running ids
-- KEYS[3]  HASH    settings  stepped: set once a task has had steps
-- KEYS[4]  HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[5]  HASH    steps   number:id -> how the step ended
-- ARGV[1]  string  id
-- ARGV[2]  string  token   of the claim
-- ARGV[3]  int     number  of the step, from 1 on
-- ARGV[4]  string  record  without its instant, which this script adds
-- returns  string  stored; lost: the worker does not hold the task any more; full: the task has no room for it;
--                  other: another step has this number, or an earlier one is missing
-- include clock
-- include holds
-- include step_index
-- include step_record

local keys = {state = KEYS[1], leases = KEYS[2], settings = KEYS[3], step_index = KEYS[4], steps = KEYS[5]}
local id, token, number = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now_ms = clock()
if not holds(keys, id, token) then
  return 'lost'
end
local index = index_of(keys, id)
if own_record(keys, id, number, token) then
  return 'stored'  -- by this call, and the reply was lost
elseif index.count ~= number - 1 or index.pending[1] then
  return 'other'
end
return append_record(keys, id, index, string.format('%.0f:', now_ms) .. ARGV[4]) and 'stored' or 'full'
