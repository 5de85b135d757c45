-- Notes that a member of a group was removed or replayed, by a script that is no step of a worker.
-- Needs the parts: member.

-- Notes *state* for the task with this *envelope*, if it is a member. *record*: as in queues/keys.py; '' for none.
-- Returns whether a relay has something to do.
local function add_member_end(member_ends, envelope, record, state)
  local member = member_of(envelope)
  if member then
    local token = tonumber(record:match('^%d+') or 0)
    redis.call('RPUSH', member_ends, packed_end(member, token, state, ''))
  end
  return member ~= nil
end
