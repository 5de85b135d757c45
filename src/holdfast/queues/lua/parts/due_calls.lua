-- Finds the tasks that a group has to enqueue and the end that its parent has to count, and sets how long the group
-- is kept.
-- Needs the parts: group_record, group_decision.

-- Returns the payload with which the member *name* ended; '' if it has none.
local function payload_of(ends, name)
  local entry = redis.call('HGET', ends, name) or ''
  return entry:match('^%d+ %l+ (.*)$') or ''
end

-- Adds the call *name* to *due*: the name, the stored call, and *payload*, the result of the member before it.
local function add_call(due, keys, name, payload)
  local call = redis.call('HGET', keys.calls, name)
  if call then
    due[#due + 1], due[#due + 2], due[#due + 3], due[#due + 4] = 'call', name, call, payload
  end
end

-- Returns the calls that are due, and the end that the parent of the group does not know yet, four values each (see
-- queues/count_ends).
local function due_calls(keys, group)
  local due = {}
  if group.kind == 'chain' and group.state == 'running' and group.done == group.started then
    add_call(due, keys, string.format('%d', group.started), group.started > 0 and payload_of(keys.group_ends, group.started - 1) or '')
  end
  for _, name in ipairs({'then', 'failure'}) do
    if group[name] == 'due' then
      add_call(due, keys, name, '')
    end
  end
  if group.version > group.reported then
    local payload = ''
    if group.outcome == 'done' then
      payload = group.kind == 'chain' and payload_of(keys.group_ends, group.total - 1) or payload_of(keys.group_ends, 'then')
    end
    due[#due + 1], due[#due + 2], due[#due + 3], due[#due + 4] = 'report', group.parent, string.format('%.0f %s',
      group.version, group.outcome), payload
  end
  return due
end

-- Keeps the keys until the group expires; those of a group that has ended, for *kept_ms*.
local function keep(keys, group, now_ms)
  local left_ms = math.max(1, group.until_ms - now_ms)
  if is_over(group) then
    left_ms = math.min(left_ms, group.kept_ms)
  end
  for _, key in ipairs({keys.group, keys.group_ends, keys.calls}) do
    redis.call('PEXPIRE', key, string.format('%.0f', left_ms))
  end
end
