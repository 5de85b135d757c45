#!lua
-- queues/count_ends: count the ends of members of a group. An end changes nothing if the group knows it already, or
-- knows a later version of the same member.
--
-- KEYS[1]  HASH    group       the record of the group
-- KEYS[2]  HASH    group_ends  name of a member -> how it ended
-- KEYS[3]  HASH    calls       name -> a call that is enqueued later
-- ARGV[1]  string  channel     notified when the state of the group changes
-- ARGV[2]  string  first of the ends, four arguments each:
--                  name: the number of the member, then or failure
--                  version: grows with each change of the member (see parts/member)
--                  state: done, dead, cancelled, or waiting if it was replayed
--                  payload: = and the result as JSON, ! and why it was not stored, or the reason of a dead one
-- returns  array   what the caller has to do, four values each. A task to enqueue: `call`, its name, the call as it is
--                  stored, payload of the member before it. An end for the parent of a nested group: `report`,
--                  parent, version and state, payload. Or only `gone`, if there is no such group
-- include clock
-- include group_record
-- include group_decision
-- include due_calls

local keys = {group = KEYS[1], group_ends = KEYS[2], calls = KEYS[3]}
local channel, now_ms = ARGV[1], clock()
local FIRST = 2
local group = read_group(keys.group)
if not group then
  return {'gone'}
end
local state_before, then_before = group.state, group['then']

-- Counts one member: it was in the state *before*, and is in *state* now.
local function count(name, before, state)
  if name == 'then' or name == 'failure' then
    set_field(group, name, state == 'waiting' and 'called' or state)
    return
  end
  if before ~= 'waiting' then
    set_field(group, before, group[before] - 1)
  end
  if state ~= 'waiting' then
    set_field(group, state, group[state] + 1)
  end
  if group.kind == 'chain' then
    set_field(group, 'started', math.max(group.started, tonumber(name) + 1))
  end
end

for i = FIRST, #ARGV, 4 do
  local name, version, state, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local known, before = (redis.call('HGET', keys.group_ends, name) or '-1 waiting '):match('^(%-?%d+) (%l+) ')
  if tonumber(version) > tonumber(known) then
    redis.call('HSET', keys.group_ends, name, version .. ' ' .. state .. ' ' .. payload)
    count(name, before, state)
  end
end
decide(group, now_ms)
write_group(keys.group, group)
keep(keys, group, now_ms)
if group.state ~= state_before or group['then'] ~= then_before then
  redis.pcall('SPUBLISH', channel, '')
end
return due_calls(keys, group)
