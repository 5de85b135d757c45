#!lua flags=no-writes
-- queues/tasks: list the next tasks that are in one state.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  HASH    state    id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  LIST    ready_h  ids, the next one first
-- KEYS[4]  LIST    ready_m
-- KEYS[5]  LIST    ready_l
-- KEYS[6]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[7]  ZSET    due_m
-- KEYS[8]  ZSET    due_l
-- KEYS[9]  ZSET    leases   running ids, scored by when the lease ends (ms)
-- KEYS[10] ZSET    dead     ids, scored by when they died (ms)
-- KEYS[11] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[12] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[13] HASH    progress  id -> number:bytes:progress
-- ARGV[1]  string  which    queued, delayed, running or dead
-- ARGV[2]  int     limit    at most, 1 to 1000
-- returns  array   seven per task: id, state (`limited` for a queued task that waits for a permit of its limit key),
--                  priority (0: unknown), instant (ms), record, envelope ('' when the reply would get too
--                  large), progress ('' if there is none)
-- include clock
-- include tombstones

local bodies, state, tombstones = KEYS[1], KEYS[2], tombstones_in(KEYS[11])
local which, limit = ARGV[1], tonumber(ARGV[2])
local now_ms = clock()
local REPLY_BYTES = 1048576
local MAX_SKIPPED = 1000  -- tombstones at the front of a ready list; tasks behind more are not listed
local out, bytes, found = {}, 0, 0

local function add(id, priority, at, is_apart)
  local body = redis.call('HGET', bodies, id)
  if body and found < limit then
    found = found + 1
    bytes = bytes + #body
    local record = redis.call('HGET', state, id) or ''
    local shown = bytes <= REPLY_BYTES and body or ''
    local progress = redis.call('HGET', KEYS[13], id) or ''
    for _, part in ipairs({id, is_apart and 'limited' or which, priority, at, record, shown, progress}) do
      out[#out + 1] = part
    end
  end
end

local function add_scored(key, priority, from, to)
  local ids = redis.call('ZRANGE', key, from, to, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  for i = 1, #ids, 2 do
    add(ids[i], priority, ids[i + 1])
  end
end

if which == 'running' then
  add_scored(KEYS[9], 0, '-inf', '+inf')
elseif which == 'dead' then
  local ids = redis.call('ZRANGE', KEYS[10], 0, limit - 1, 'REV', 'WITHSCORES')
  for i = 1, #ids, 2 do
    add(ids[i], 0, ids[i + 1])
  end
else
  for priority = 1, 3 do
    if which == 'delayed' then
      add_scored(KEYS[5 + priority], priority, '(' .. now_ms, '+inf')
    else
      add_scored(KEYS[5 + priority], priority, '-inf', now_ms)
      local last = limit + math.min(redis.call('SCARD', KEYS[11]), MAX_SKIPPED) - 1
      for _, id in ipairs(redis.call('LRANGE', KEYS[2 + priority], 0, last)) do
        if not has_tombstone(tombstones, id) then
          add(id, priority, 0)
        end
      end
    end
  end
end
if which == 'queued' and found < limit then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[12], 0, limit - found - 1)) do
    add(id, 0, 0, true)
  end
end
return out
