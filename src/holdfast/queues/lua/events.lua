#!lua flags=allow-oom
-- queues/events: return the next events of a task, after the last one that the reader has. A reader that waits for
-- more events is notified of them, and of the end of the task.
--
-- KEYS[1]  HASH    bodies    id -> envelope
-- KEYS[2]  ZSET    dead      ids, scored by when they died (ms)
-- KEYS[3]  HASH    progress  id -> number:bytes:progress
-- KEYS[4]  LIST    events    of this task
-- ARGV[1]  string  id
-- ARGV[2]  int     after     number of the last event that the reader has
-- ARGV[3]  int     limit     events at most, 1 to 1000
-- ARGV[4]  int     follows   1 if the reader waits for more, otherwise 0
-- returns  array   open: 1 if the task has not ended, otherwise 0
--                  last: number of the last event; -1 if nothing is known of the task
--                  records: of the next events, `number:at_ms:attempt:kind_and_json`
-- include stored

local bodies, dead, progress, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, after, limit, follows = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'

-- Returns the number of the last event of a task that has not ended, or is dead.
local function last_of(is_open)
  local entry = redis.call('HGET', progress, id)
  if not entry and is_open and follows then
    redis.call('HSET', progress, id, '0:0:')  -- so that the end of the task notifies the reader
  end
  return entry and whole(entry:match('^%d+'), 0, EXACT, 'field ' .. id, progress) or 0
end

local exists = redis.call('HEXISTS', bodies, id) == 1
local is_open = exists and not redis.call('ZSCORE', dead, id)
local last, length = -1, redis.call('LLEN', events)
if exists then
  last = last_of(is_open)
  length = last > 0 and length or 0  -- an earlier task of this id may have left events
elseif length > 0 then
  last = whole(redis.call('LINDEX', events, -1):match('^%d+'), 1, EXACT, 'an event', events)
end
local records = {}
if length > 0 and after < last then
  local from = math.max(0, after - (last - length))
  records = redis.call('LRANGE', events, from, from + limit - 1)
end
return {is_open and 1 or 0, last, records}
