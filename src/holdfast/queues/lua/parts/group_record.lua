-- The record of a group (see queues/keys.py).

-- Returns the record as a table; nil if there is no such group.
local function read_group(key)
  local numbers = {
    'total', 'max_failures', 'done', 'dead', 'cancelled', 'started', 'version', 'reported', 'kept_ms', 'until_ms',
    'ended_ms',
  }
  local texts, group = {'kind', 'state', 'then', 'failure', 'parent', 'outcome'}, {changed = {}, names = {}}
  local found = redis.call('HMGET', key, unpack(texts))
  if not found[1] then
    return nil
  end
  for i, name in ipairs(texts) do
    group[name] = found[i] or ''
  end
  found = redis.call('HMGET', key, unpack(numbers))
  for i, name in ipairs(numbers) do
    group[name] = tonumber(found[i] or nil) or 0
  end
  return group
end

-- Changes one field of the record.
local function set_field(group, name, value)
  if group[name] ~= value then
    group[name] = value
    if not group.changed[name] then
      group.changed[name], group.names[#group.names + 1] = true, name
    end
  end
end

-- Writes the fields that were changed.
local function write_group(key, group)
  local fields = {}
  for _, name in ipairs(group.names) do
    local value = group[name]
    fields[#fields + 1], fields[#fields + 2] = name, type(value) == 'number' and string.format('%.0f', value) or value
  end
  if #fields > 0 then
    redis.call('HSET', key, unpack(fields))
  end
end
