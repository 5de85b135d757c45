-- Notes the ends of members of groups when a worker settles and claims tasks.
-- Needs the parts: member.
--
-- The note in the record of a running task says whether it is a member. So a step need not read the envelopes of
-- other tasks.

-- Returns whether the *record* of a running task is that of a member. The note of a task that does not run is a
-- reason, so for such a task the result may be wrong.
local function notes_member(record)
  return record:find(' member', -7, true) ~= nil
end

-- Adds the end of the task *id* to `step.ends`, if the task is a member of a group.
local function note_member_end(step, id, token, state, payload)
  local member = member_of(redis.call('HGET', step.keys.bodies, id) or '')
  if member then
    step.ends[#step.ends + 1] = packed_end(member, token, state, payload)
  end
end

-- Writes `step.ends`. Sets `step.member_ends`: how many ends are to be relayed to their groups (see
-- queues/relay_ends). Uses pcall, because a key of another type must not end the step half-way.
local function write_ends(step)
  local left = redis.pcall('LLEN', step.keys.member_ends)
  if #step.ends > 0 then
    left = redis.pcall('RPUSH', step.keys.member_ends, unpack(step.ends))
  end
  step.member_ends = type(left) == 'number' and left or 0
end
