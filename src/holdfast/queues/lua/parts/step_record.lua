-- Writes the index and the records of the steps of a task (see queues/keys.py).
-- Needs the parts: step_index.

-- Stores the index of a task. The setting `stepped` makes workers examine from now on whether tasks have one.
local function write_index(keys, id, index)
  if redis.call('HSET', keys.step_index, id, cmsgpack.pack(index)) == 1 then
    redis.call('HSET', keys.settings, 'stepped', '1')
  end
end

-- Appends a record to the steps of a task. Returns false if it has no room.
local function append_record(keys, id, index, record)
  if index.count >= MOST_STEPS or index.bytes + #record > MOST_STEP_BYTES then
    return false
  end
  index.count, index.bytes, index.pending = index.count + 1, index.bytes + #record, {}
  redis.call('HSET', keys.steps, numbered(index.count, id), record)
  write_index(keys, id, index)
  return true
end

-- Returns the record with this *number* if the claim with this *token* wrote it, so that this is a repetition.
local function own_record(keys, id, number, token)
  local record = redis.call('HGET', keys.steps, numbered(number, id)) or ''
  return record:match('^%d+:' .. token .. ':') and record
end
