-- Members of groups: tasks with an end that counts for a group (see queues/groups/).
--
-- The envelope of a member ends with `,"group":"GROUP NAME"}`. GROUP is the id of the group, NAME is the number of
-- the member, or `then` or `failure` for a callback. The field has 320 bytes at most.

-- Returns `GROUP NAME` of the task with this envelope; nil if it is no member.
local function member_of(envelope)
  -- Most envelopes end with a number, not with a quote, and a plain search is ten times as fast as a match.
  if envelope:byte(-2) ~= 34 or not envelope:find(',"group":"', -320, true) then
    return nil
  end
  return envelope:sub(-320):match(',"group":"([^" ]+ %w+)"}$')
end

-- Returns the text for the group of *member* (see queues/relay_ends): `GROUP NAME VERSION STATE PAYLOAD`. The version grows
-- with each claim of the task; after a claim, it grows in this order: the task ends, it is replayed, it is removed.
-- So a late copy of an earlier state changes nothing.
local function packed_end(member, token, state, payload)
  local order = (state == 'waiting' and 1) or (state == 'cancelled' and 2) or 0
  return string.format('%s %.0f %s ', member, 3 * token + order, state) .. payload
end
