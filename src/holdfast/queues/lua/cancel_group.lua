#!lua flags=allow-oom
-- queues/cancel_group: cancel a group that is not done. This step cancels no member.
--
-- KEYS[1]  HASH    group       the record of the group
-- KEYS[2]  HASH    group_ends  name of a member -> how it ended
-- KEYS[3]  HASH    calls       name -> a call that is enqueued later
-- ARGV[1]  string  channel     notified when the state of the group changes
-- returns  string  the state of the group; gone if there is none
-- include clock
-- include group_record
-- include group_decision
-- include due_calls

local keys = {group = KEYS[1], group_ends = KEYS[2], calls = KEYS[3]}
local channel, now_ms = ARGV[1], clock()
local group = read_group(keys.group)
if not group then
  return 'gone'
end
if group.state == 'running' or group.state == 'failed' then
  set_field(group, 'state', 'cancelled')
  decide(group, now_ms)
  redis.call('UNLINK', keys.calls)
  write_group(keys.group, group)
  keep(keys, group, now_ms)
  redis.pcall('SPUBLISH', channel, '')
end
return group.state
