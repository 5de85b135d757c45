-- A worker's verdicts on tasks that it ran: done (ms: how long to keep the result), retry (ms: to
-- wait), dead, release (back to the front, nothing spent) or park (ms: at most, in all); text: result
-- or reason.
-- Expects: awaiting, record, unfinished.

local VERDICT = 5  -- arguments of each: id, token, verb, ms, text

-- The records of the tasks with these *ids* that are leased, by id; '' for the others.
local function leased_records(step, ids)
  local leased, records = {}, redis.call('HMGET', step.state, unpack(ids))
  for n, score in ipairs(redis.call('ZMSCORE', step.leases, unpack(ids))) do
    leased[ids[n]] = score and records[n] or ''
  end
  return leased
end

-- Takes the verdicts in *args* from *first* on; each that is done has a key for its result, in *keys*
-- from *kept* on. Returns one digit per verdict (0: the lease was lost, so another worker has the task,
-- or had the last word), and whether something is back in line.
local function settle_all(step, args, first, keys, kept)
  local ids, let_go, finished, accepted, put_back_some = {}, {}, {}, {}, false
  for i = first, #args, VERDICT do
    ids[#ids + 1] = args[i]
  end
  if #ids == 0 then
    return '', false
  end
  local leased, released = leased_records(step, ids), {{}, {}, {}}
  for n, id in ipairs(ids) do
    local i, record = first + VERDICT * (n - 1), leased[id]
    local token, verb, ms, text = args[i + 1], args[i + 2], tonumber(args[i + 3]), args[i + 4]
    accepted[n] = '0'
    if record:sub(1, #token + 1) == token .. ':' then
      if verb == 'done' then
        settle_done(step, id, record, ms, text, keys[kept])
        finished[#finished + 1] = id
      else
        settle_unfinished(step, released, id, parse_record(record), verb, ms, text)
      end
      accepted[n], let_go[#let_go + 1] = '1', id
      leased[id] = ''  -- a second verdict on the same claim comes too late
    end
    kept = verb == 'done' and kept + 1 or kept
    put_back_some = put_back_some or verb ~= 'done'
  end
  if #let_go > 0 then
    redis.call('ZREM', step.leases, unpack(let_go))
  end
  if #finished > 0 then
    redis.call('HDEL', step.bodies, unpack(finished))
    redis.call('HDEL', step.state, unpack(finished))
  end
  put_released_back(step, released)
  return table.concat(accepted), put_back_some
end
