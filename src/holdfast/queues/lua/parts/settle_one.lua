-- Settles one task.
-- Needs the parts: awaiting, progress, history, member_end, own_key, record, return_task, release, suspend,
-- crash, pause_key.

-- Stores the *text* of a done task under the key *result* for *ms*; with 0 it stores none. Its events are kept as
-- long; *events* is their key if there may be any, otherwise false.
local function settle_done(step, id, record, ms, text, facts, result, events)
  local token, attempts, crashes = record:match('^(%d+):(%d+):(%d+)')
  attempts = attempts or '0'
  if ms > 0 then
    local stored = 'done:' .. attempts .. ':' .. string.format('%.0f', step.now_ms) .. ':' .. text
    redis.call('SET', result, stored, 'PX', ms)
  else
    redis.call('DEL', result)  -- an earlier task of this id may have left one
  end
  step.counts.done = step.counts.done + 1
  if notes_unique(record) then
    update_key(step, id, 'done')
  elseif notes_member(record) then
    note_member_end(step, id, tonumber(token), 'done', text)
  end
  add_to_history(step, id, 'done', attempts, crashes or '0', facts, step.worker, '')
  notify_awaiting(step.awaited, id)
  end_events(step.progress, id, events, ms)
end

local function settle_unfinished(step, released, id, task, verb, ms, reason)
  local plain = verb:match('^(.*)_key$')
  if plain and step.limits then
    pause_key(step.limits, id, ms)
  end
  verb = plain or verb
  if redis.call('HEXISTS', step.keys.bodies, id) == 0 then  -- another program removed the task
    redis.call('HDEL', step.keys.state, id)
  elseif verb == 'dead' then
    move_to_dead(step, id, task, reason)
  elseif verb == 'crash' then
    task.parked = 0
    count_crash(step, id, task, step.now_ms, reason)
  elseif verb == 'give_up' then
    move_to_dead(step, id, task, reason, 'gave_up')
  elseif verb == 'park' then
    park(step, id, task, ms, reason)
  elseif verb == 'release' then
    release(step, released, id, task, reason)
  elseif verb == 'suspend' then
    suspend(step, id, task, reason)
  elseif verb == 'snooze' then
    task.attempts, task.snoozes = task.attempts - 1, task.snoozes + 1
    run_again(step, id, task, ms, reason, 'snoozed')
  else
    run_again(step, id, task, ms, reason, 'retried')
  end
end
