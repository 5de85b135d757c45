-- A worker's verdicts on tasks that it ran.
-- Expects: awaiting, record, unfinished, bodies, state, leases, now_ms.

local finished = {}  -- ids; forgotten once all verdicts are known
local now_text = string.format('%.0f', now_ms)

-- done (ms: how long to keep the result, under the key *kept*), retry (ms: to wait), dead,
-- release (back to the front, nothing spent) or park (ms: at most, in all); text: result or reason.
-- 0 when the lease was lost: someone else has the task, or had the last word.
local function settle(id, record, token, verb, ms, text, kept)
  if not record or record:sub(1, #token + 1) ~= token .. ':' or redis.call('ZREM', leases, id) == 0 then
    return 0
  end
  if verb ~= 'done' then
    settle_unfinished(id, parse(record), verb, ms, text)
    return 1
  end
  if ms > 0 then
    local ended = 'done:' .. record:match('^%d+:(%d+)') .. ':' .. now_text .. ':' .. text
    redis.call('SET', kept, ended, 'PX', ms)
  else
    redis.call('DEL', kept)  -- that of an earlier task of this id
  end
  finished[#finished + 1] = id
  tell_awaiting(id)
  return 1
end

-- *settled*: id, token, verb, ms and text, one after the other; *next_kept* gives the next key for a
-- result. One digit per verdict, and whether something is back in line.
local function settle_all(settled, next_kept)
  local ids, accepted, put_back_some = {}, {}, false
  for i = 1, #settled, 5 do
    ids[#ids + 1] = settled[i]
  end
  local records = #ids > 0 and redis.call('HMGET', state, unpack(ids)) or {}
  for n, id in ipairs(ids) do
    local i = 5 * n - 4
    local verb = settled[i + 2]
    accepted[n] = settle(id, records[n], settled[i + 1], verb, tonumber(settled[i + 3]),
      settled[i + 4], verb == 'done' and next_kept())
    put_back_some = put_back_some or verb ~= 'done'
  end
  if #finished > 0 then
    redis.call('HDEL', bodies, unpack(finished))
    redis.call('HDEL', state, unpack(finished))
  end
  put_released_back()
  return table.concat(accepted), put_back_some
end
