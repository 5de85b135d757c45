-- Takes and releases the keys of unique tasks when a worker claims and settles the tasks.
-- Needs the parts: unique, key_holder, member, member_end.
--
-- The note in the record of a running task says whether it is unique. So a step need not read the envelopes
-- of other tasks.

local UNIQUE_NOTE = ' unique'

-- Returns whether the *record* of a running task is that of a unique task. The note of a task that does not run
-- is a reason, so for such a task the result may be wrong.
local function notes_unique(record)
  return record:find(UNIQUE_NOTE, -#UNIQUE_NOTE, true) ~= nil
end

-- Returns the note of a claimed task: the channel, the worker, since when it was due if it was in a due
-- set (ms), and whether it is unique or a member of a group. A released task returns to its due set with that
-- instant (see parts/release).
local function note_of(step, claims, id, unique, body)
  local due_at = claims.due_at[id]
  local note = due_at and step.holder .. ' ' .. due_at or step.holder
  if unique then
    return note .. UNIQUE_NOTE
  end
  return member_of(body) and note .. ' member' or note
end

-- Stores that a task which is done keeps its key for *lasts_ms*. Examines a few kept keys, and deletes
-- those that have ended.
local function keep_key(step, key, id, lasts_ms)
  local kept = step.keys.kept
  redis.call('HSET', kept, key, string.format('%.0f:%s', step.now_ms + lasts_ms, id))
  if redis.call('PTTL', kept) < lasts_ms then
    redis.call('PEXPIRE', kept, lasts_ms)
  end
  local found = redis.call('HRANDFIELD', kept, 4, 'WITHVALUES')
  for i = 1, #found, 2 do
    if tonumber(found[i + 1]:match('^%d+') or 0) <= step.now_ms then
      redis.call('HDEL', kept, found[i])
    end
  end
end

local function change_key(step, id, envelope, event)
  local unique = envelope and unique_of(envelope)
  if not unique then
    return
  elseif event == 'unstarted' then
    if unique.lasts == 'start' and not holder_of(step.keys, unique.key, step.now_ms) then
      take_key(step.keys, unique, id, step.now_ms)
    end
  elseif event ~= 'started' or unique.lasts == 'start' then
    local was_held = release_key(step.keys, unique, id)
    if was_held and event == 'done' and tonumber(unique.lasts) then
      keep_key(step, unique.key, id, tonumber(unique.lasts))
    end
  end
end

-- Changes who holds the key of a unique task after an *event*: the task is `started`, `unstarted` (it goes
-- back to its queue, and the attempt does not count), `done`, or `dead`. *envelope*: nil to read it. Uses
-- pcall, because a key of another type must not end the step half-way.
local function update_key(step, id, event, envelope)
  pcall(change_key, step, id, envelope or redis.call('HGET', step.keys.bodies, id), event)
end
