-- Decides what follows from the ends of the members of a group.
-- Needs the parts: group_record.

-- Returns the state of the group: running, done, failed or cancelled. `done` and `cancelled` are final.
local function state_of(group)
  local failures = group.dead + group.cancelled
  if group.state == 'done' or group.state == 'cancelled' then
    return group.state
  elseif failures > group.max_failures then
    return 'failed'
  elseif group.done + failures == group.total then
    return 'done'
  end
  return 'running'
end

-- Returns how the group has ended for its parent: done, dead or cancelled; waiting if it has not.
local function outcome_of(group)
  local result = group['then']
  if group.state == 'failed' then
    return 'dead'
  elseif group.state == 'cancelled' then
    return 'cancelled'
  elseif group.state == 'done' and result == '' then
    return 'done'
  elseif group.state == 'done' and (result == 'done' or result == 'dead' or result == 'cancelled') then
    return result
  end
  return 'waiting'
end

-- Returns whether nothing can change for the group any more: it is cancelled, or done and its parent knows it.
local function is_over(group)
  local outcome = outcome_of(group)
  return outcome == 'cancelled' or outcome == 'done' and group.reported == (group.parent ~= '' and group.version or 0)
end

-- Changes the state of the record according to the counted ends.
local function decide(group, now_ms)
  set_field(group, 'state', state_of(group))
  if group.state == 'done' and group['then'] == 'waiting' then
    set_field(group, 'then', 'due')
  elseif group.state == 'failed' and group.failure == 'waiting' then
    set_field(group, 'failure', 'due')
  end
  set_field(group, 'ended_ms', group.state ~= 'running' and (group.ended_ms > 0 and group.ended_ms or now_ms) or 0)
  local outcome = outcome_of(group)
  if group.parent ~= '' and outcome ~= (group.outcome == '' and 'waiting' or group.outcome) then
    set_field(group, 'version', group.version + 1)
    set_field(group, 'outcome', outcome)
  end
end
