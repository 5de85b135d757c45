-- A worker's verdicts on tasks that it ran.
-- Expects: awaiting, pace, record, unfinished, bodies, state, leases, now_ms.

local VERDICT = 5  -- arguments of each: id, token, verb, ms, text

local finished = {}  -- ids; forgotten once all verdicts are known
local now_text = string.format('%.0f', now_ms)

-- done (ms: how long to keep the result, under the key *kept*), retry (ms: to wait), dead,
-- release (back to the front, nothing spent) or park (ms: at most, in all); text: result or reason.
local function settle(id, record, verb, ms, text, kept)
  if verb ~= 'done' then
    return settle_unfinished(id, parse(record), verb, ms, text)
  end
  if ms > 0 then
    local kept_text = 'done:' .. (record:match('^%d+:(%d+)') or '0') .. ':' .. now_text .. ':' .. text
    redis.call('SET', kept, kept_text, 'PX', ms)
  else
    redis.call('DEL', kept)  -- that of an earlier task of this id
  end
  finished[#finished + 1] = id
  ended.done = ended.done + 1
  tell_awaiting(id)
end

-- The verdicts from ARGV[first] on; each that is done has a key for its result, from KEYS[kept] on.
-- One digit per verdict, and whether something is back in line. 0: the lease was lost, so someone
-- else has the task, or had the last word.
local function settle_all(first, kept)
  local ids, let_go, accepted, standing, put_back_some = {}, {}, {}, {}, false
  for i = first, #ARGV, VERDICT do
    ids[#ids + 1] = ARGV[i]
  end
  if #ids == 0 then
    return '', false
  end
  local records = redis.call('HMGET', state, unpack(ids))
  for n, score in ipairs(redis.call('ZMSCORE', leases, unpack(ids))) do
    standing[ids[n]] = score and records[n] or ''
  end
  for n, id in ipairs(ids) do
    local i, record = first + VERDICT * (n - 1), standing[id]
    local token, verb = ARGV[i + 1], ARGV[i + 2]
    accepted[n] = '0'
    if record:sub(1, #token + 1) == token .. ':' then
      settle(id, record, verb, tonumber(ARGV[i + 3]), ARGV[i + 4], KEYS[kept])
      accepted[n], let_go[#let_go + 1] = '1', id
      standing[id] = ''  -- a second verdict on the same claim comes too late
    end
    kept = verb == 'done' and kept + 1 or kept
    put_back_some = put_back_some or verb ~= 'done'
  end
  if #let_go > 0 then
    redis.call('ZREM', leases, unpack(let_go))
  end
  if #finished > 0 then
    redis.call('HDEL', bodies, unpack(finished))
    redis.call('HDEL', state, unpack(finished))
  end
  put_released_back()
  return table.concat(accepted), put_back_some
end
