-- Settles the tasks that a worker ran. For each it sends id, token, verb, ms and text:
--   done     ms: how long to keep the result; text: the result
--   retry    ms: how long to wait; text: the reason
--   dead     text: the reason
--   release  back to the front, no attempt is counted; text: the reason
--   park     ms: at most, in all; text: the reason
-- Expects: record, return_task, settle_one.

local SETTLEMENT = 5  -- arguments of each

-- Returns the records of the tasks in *ids* that have a lease, by id; '' for the others.
local function leased_records(step, ids)
  local leased, records = {}, redis.call('HMGET', step.state, unpack(ids))
  for n, score in ipairs(redis.call('ZMSCORE', step.leases, unpack(ids))) do
    leased[ids[n]] = score and records[n] or ''
  end
  return leased
end

-- Applies the settlements in *args* from *first* on. Each `done` has a key for its result, in *keys*
-- from *first_result* on. Returns one digit for each: 1 accepted; 0 refused, because the lease was
-- lost or an earlier settlement was accepted. Also returns whether a task may be queued again.
local function settle_all(step, args, first, keys, first_result)
  local ids, ended, done, accepted, requeued = {}, {}, {}, {}, false
  for i = first, #args, SETTLEMENT do
    ids[#ids + 1] = args[i]
  end
  if #ids == 0 then
    return '', false
  end
  local leased, released, result = leased_records(step, ids), {{}, {}, {}}, first_result
  for n, id in ipairs(ids) do
    local i, record = first + SETTLEMENT * (n - 1), leased[id]
    local token, verb, ms, text = args[i + 1], args[i + 2], tonumber(args[i + 3]), args[i + 4]
    accepted[n] = '0'
    if record:sub(1, #token + 1) == token .. ':' then
      if verb == 'done' then
        settle_done(step, id, record, ms, text, keys[result])
        done[#done + 1] = id
      else
        settle_unfinished(step, released, id, parse_record(record), verb, ms, text)
      end
      accepted[n], ended[#ended + 1] = '1', id
      leased[id] = ''  -- refuses a second settlement of this claim
    end
    result = verb == 'done' and result + 1 or result
    requeued = requeued or verb ~= 'done'
  end
  if #ended > 0 then
    redis.call('ZREM', step.leases, unpack(ended))
  end
  if #done > 0 then
    redis.call('HDEL', step.bodies, unpack(done))
    redis.call('HDEL', step.state, unpack(done))
  end
  write_released(step, released)
  return table.concat(accepted), requeued
end
