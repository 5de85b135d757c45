-- Settles the tasks that a worker ran. The worker sends six arguments for each task: id, token, verb, ms,
-- text, and facts for the history. The facts are `duration_us:bytes:name`, with the length of the name in
-- bytes. The text is the reason; after `done` it is the result. The verbs, and what ms is:
--   done     the task succeeded; ms: how long to keep the result
--   done_events  as done, and the task may have events
--   retry    the task failed and runs again; ms: in how long
--   snooze   the task asked to run later, no attempt is counted; ms: in how long
--   suspend  the task sleeps or waits for a signal, no attempt is counted
--   dead     the task failed and does not run again
--   crash    the process of the task died; a crash is counted
--   give_up  the task asked to be dead
--   retry_key, dead_key  as retry and dead, and no task of its limit key starts for ms
--   release  the task goes back to the front, no attempt is counted
--   park     the worker does not know the task, no attempt is counted; ms: after so long it is dead
-- Needs the parts: record, return_task, release, settle_one, give_back, forget_steps.

local SETTLEMENT = 6  -- arguments of each task

-- Returns the records of the tasks in *ids* by id; false for a task without a lease or a record.
local function leased_records(step, ids)
  local by_id, records = {}, redis.call('HMGET', step.keys.state, unpack(ids))
  for n, score in ipairs(redis.call('ZMSCORE', step.keys.leases, unpack(ids))) do
    by_id[ids[n]] = score and records[n]
  end
  return by_id
end

-- Applies the settlements in *args* from *first* on. Each `done` has a key for its result, in *keys*
-- from *first_result* on, and `done_events` another one for its events. Returns one digit for each
-- settlement: 1 accepted; 0 refused, because the lease was lost or an earlier settlement was accepted.
-- Also returns whether a task may be queued again.
local function settle_all(step, args, first, keys, first_result)
  local ids, ended, done, freed, accepted, requeued = {}, {}, {}, {}, {}, false
  for i = first, #args, SETTLEMENT do
    ids[#ids + 1] = args[i]
  end
  if #ids == 0 then
    return '', false
  end
  local records, released, next_result = leased_records(step, ids), {{}, {}, {}, apart = {}}, first_result
  for n, id in ipairs(ids) do
    local i, record = first + SETTLEMENT * (n - 1), records[id]
    local _, token, verb, ms, text, facts = unpack(args, i, i + SETTLEMENT - 1)
    local given = verb == 'done' and 1 or verb == 'done_events' and 2 or 0  -- keys of this task
    accepted[n] = '0'
    if record and record:sub(1, #token + 1) == token .. ':' then
      if given > 0 then
        settle_done(step, id, record, tonumber(ms), text, facts, keys[next_result],
          given == 2 and keys[next_result + 1])
        done[#done + 1] = id
      else
        local task = parse_record(record)
        task.facts, task.worker = facts, step.worker
        settle_unfinished(step, released, id, task, verb, tonumber(ms), text)
      end
      accepted[n], ended[#ended + 1], records[id] = '1', id, false  -- refuses a second settlement of this claim
      -- A released task keeps the permit of its limit key, unless it is kept apart from now on.
      freed[#freed + 1] = (verb ~= 'release' or released.apart[id]) and id or nil
    end
    next_result, requeued = next_result + given, requeued or given == 0
  end
  if #ended > 0 then
    redis.call('ZREM', step.keys.leases, unpack(ended))
  end
  if #done > 0 then
    redis.call('HDEL', step.keys.bodies, unpack(done))
    redis.call('HDEL', step.keys.state, unpack(done))
    if step.has_steps then forget_steps(step.keys, done) end
  end
  write_released(step, released)
  if step.limits and #freed > 0 then
    give_back(step.limits, freed, true)
  end
  return table.concat(accepted), requeued
end
