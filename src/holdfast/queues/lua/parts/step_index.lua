-- The index of the steps of a task (see queues/keys.py).
--
-- It is a table with these fields:
--   count    number of steps that have ended
--   bytes    size of their records
--   pending  of a sleep or a wait that has begun and not ended: {kind, name, signal, until_ms}; otherwise {}
--   last     number of the last signal
--   signals  those that no wait has taken yet, the oldest first: {number, sent_ms, name} of each

local MOST_STEPS = 1000
local MOST_STEP_BYTES = 16777216  -- of all records of a task: 16 MiB
local NEVER_MS = 140737488355328  -- 2^47: a wait without a timeout is due then

-- Returns the index that was *packed*; that of a task without steps if there is none. Raises an error if it is not what
-- Holdfast writes.
local function unpacked_index(packed, key, id)
  if not packed then
    return {count = 0, bytes = 0, pending = {}, last = 0, signals = {}}
  end
  local readable, index = pcall(cmsgpack.unpack, packed)
  if not readable or type(index) ~= 'table' or type(index.count) ~= 'number' or type(index.bytes) ~= 'number'
    or type(index.pending) ~= 'table' or type(index.last) ~= 'number' or type(index.signals) ~= 'table' then
    error({err = 'DAMAGED entry ' .. id .. ' of ' .. key .. ' is not what Holdfast writes'})
  end
  return index
end

local function index_of(keys, id)
  return unpacked_index(redis.call('HGET', keys.step_index, id), keys.step_index, id)
end

-- Returns whether a task has asked for a step.
local function has_steps(keys, id)
  local packed = redis.call('HGET', keys.step_index, id)
  local readable, index = pcall(unpacked_index, packed, keys.step_index, id)
  return readable and (index.count > 0 or index.pending[1] ~= nil)
end

-- Returns the name of the hash field for the step, or the signal, with this *number*.
local function numbered(number, id)
  return string.format('%d:%s', number, id)
end
