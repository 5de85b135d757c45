#!lua
-- queues/start_group: store a group that does not exist yet. Its members are not stored by this step.
--
-- KEYS[1]  HASH    group  the record of the group
-- KEYS[2]  HASH    calls  name -> a call that is enqueued later
-- ARGV[1]  string  definition  a digest of its tasks and options
-- ARGV[2]  int     life_ms  the group expires after so long
-- ARGV[3]  string  first of the fields, two arguments each: its name in the record, or `call NAME` for NAME in
--                  the calls; and the value
-- returns  string  new; open AGE_MS: it was stored so long ago, and some members may be missing; closed: it was stored
--                  with all members, or is cancelled; or other: another group has the id
-- include clock

local group, calls, definition, life_ms = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local now_ms = clock()
local stored = redis.call('HGET', group, 'definition')
if stored then
  if stored ~= definition then
    return 'other'
  end
  local age_ms = now_ms - tonumber(redis.call('HGET', group, 'created_ms') or 0)
  local is_closed = redis.call('HGET', group, 'closed') or redis.call('HGET', group, 'state') == 'cancelled'
  return is_closed and 'closed' or string.format('open %.0f', age_ms)
end
redis.call('UNLINK', calls)
local FIRST = 3
for i = FIRST, #ARGV, 2 do
  local name = ARGV[i]:match('^call (.*)$')
  if name then
    redis.call('HSET', calls, name, ARGV[i + 1])
  else
    redis.call('HSET', group, ARGV[i], ARGV[i + 1])
  end
end
redis.call('HSET', group, 'definition', definition, 'created_ms', string.format('%.0f', now_ms),
  'until_ms', string.format('%.0f', now_ms + life_ms))
redis.call('PEXPIRE', group, life_ms)
redis.call('PEXPIRE', calls, life_ms)
return 'new'
