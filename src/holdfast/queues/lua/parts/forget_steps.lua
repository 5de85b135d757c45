-- Deletes the steps of tasks that are done, cancelled or removed.
-- Needs the parts: step_index.

local FIELDS = 100  -- fields deleted by one command

local function delete_fields(key, fields)
  for i = 1, #fields, FIELDS do
    redis.call('HDEL', key, unpack(fields, i, math.min(i + FIELDS - 1, #fields)))
  end
end

local function forget_one(keys, id, packed)
  local index, records, sent = unpacked_index(packed, keys.step_index, id), {}, {}
  for number = 1, math.min(index.count, MOST_STEPS) do
    records[number] = numbered(number, id)
  end
  for n, signal in ipairs(index.signals) do
    sent[n] = numbered(signal[1], id)
  end
  delete_fields(keys.steps, records)
  delete_fields(keys.signals, sent)
  return #records + #sent
end

-- Deletes the steps and the signals of the tasks in *ids*. Returns how many records it deleted. Uses pcall,
-- because an index that another program changed must not end the script half-way.
local function forget_steps(keys, ids)
  local deleted, read, found = 0, pcall(redis.call, 'HMGET', keys.step_index, unpack(ids))
  for n, packed in ipairs(read and found or {}) do
    if packed then
      local readable, count = pcall(forget_one, keys, ids[n], packed)
      deleted = deleted + (readable and count or 0)
      redis.call('HDEL', keys.step_index, ids[n])
    end
  end
  return deleted
end
