#!lua
-- queues/mark_called: note in the record of a group that a call that was due is enqueued, or that the parent of the
-- group knows how it ended.
--
-- KEYS[1]  HASH    group       the record of the group
-- KEYS[2]  HASH    group_ends  name of a member -> how it ended
-- KEYS[3]  HASH    calls       name -> a call that is enqueued later
-- ARGV[1]  string  name        then, failure, the number of a member, or parent
-- ARGV[2]  int     version     that the parent knows; 0 for a call
-- returns  string  the state of the group; gone if there is none
-- include clock
-- include group_record
-- include group_decision
-- include due_calls

local keys = {group = KEYS[1], group_ends = KEYS[2], calls = KEYS[3]}
local name, version, now_ms = ARGV[1], tonumber(ARGV[2]), clock()
local group = read_group(keys.group)
if not group then
  return 'gone'
end
if name == 'parent' then
  set_field(group, 'reported', math.max(group.reported, version))
elseif name == 'then' or name == 'failure' then
  if group[name] == 'due' then
    set_field(group, name, 'called')
  end
elseif group.done == tonumber(name) then
  set_field(group, 'started', math.max(group.started, tonumber(name) + 1))
end
-- A server that went back to an older state may not know yet that the call was due. Then the call stays stored, and
-- becomes due again.
if group[name] ~= 'waiting' and group.started > (tonumber(name) or -1) then
  redis.call('HDEL', keys.calls, name)
end
write_group(keys.group, group)
keep(keys, group, now_ms)
return group.state
