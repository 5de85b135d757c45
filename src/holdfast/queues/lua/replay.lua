#!lua
-- queues/replay: queue dead tasks again, as if they were new: a limited number of them per call. The steps of a task
-- (see parts/step_index) that have ended do not run again. A unique task takes its key again if the key is free.
-- Otherwise it is queued without the key.
--
-- KEYS[1]  ZSET    dead     ids, scored by when they died (ms)
-- KEYS[2]  HASH    bodies   id -> envelope
-- KEYS[3]  HASH    state    id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[4]  LIST    ready_h  ids, the next one first
-- KEYS[5]  LIST    ready_m
-- KEYS[6]  LIST    ready_l
-- KEYS[7]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[8]  ZSET    due_m
-- KEYS[9]  ZSET    due_l
-- KEYS[10] ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[11] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[12] ZSET    leases   running ids
-- KEYS[13] HASH    unique   key -> the task that holds it
-- KEYS[14] HASH    kept     key -> a task that is done and still holds it
-- KEYS[15] HASH    settings  the definitions of limits
-- KEYS[16] HASH    limit_keys  the limit keys in use
-- KEYS[17] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[18] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[19] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- KEYS[20] LIST    member_ends  how members of groups ended, for their groups
-- KEYS[21] HASH    even     ledger of even hours
-- KEYS[22] HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  int     limit    at most this many, the oldest first; 0: only those that are named
-- ARGV[4]  int     total    at most this many in this call and all later ones of the operation
-- ARGV[5]  string  first of the named ids
-- returns  array   tasks that were queued, and how many are left for later calls
-- include clock
-- include notify
-- include ledger
-- include tombstones
-- include unique
-- include member
-- include removed_member
-- include step_index
-- include key_holder
-- include limit
-- include limit_key
-- include write_keys
-- include write_limits
-- include key_of
-- include starts
-- include turns
-- include idle_keys
-- include keep_apart
-- include admit
-- include enter

local tombstones = tombstones_in(KEYS[11])
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[21], KEYS[22], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+ ?%d*$')
if answer then
  local replayed, left = answer:match('^(%d+) ?(%d*)$')
  return {tonumber(replayed), tonumber(left) or 0}
end

local FIRST = 5
local ids, limit, total = {}, tonumber(ARGV[3]), tonumber(ARGV[4])
if limit > 0 then
  total = math.min(total, redis.call('ZCARD', KEYS[1]))
  ids = redis.call('ZRANGE', KEYS[1], 0, limit - 1)
end
for i = FIRST, #ARGV do
  ids[#ids + 1] = ARGV[i]
end

local keys = {
  bodies = KEYS[2], leases = KEYS[12], dead = KEYS[1], unique = KEYS[13], kept = KEYS[14],
  step_index = KEYS[19],
}

local limits = with_writes({
  settings = KEYS[15], limit_keys = KEYS[16], admitted = KEYS[17], limited = KEYS[18],
  ready = {KEYS[4], KEYS[5], KEYS[6]}, due = {KEYS[7], KEYS[8], KEYS[9]}, tombstones = tombstones,
  now_ms = now_ms,
})

-- Queues a replayed task behind the others.
local function queue(id, priority, envelope)
  local limit = limit_of(envelope)
  if limit then
    enter(limits, limit, id, priority)
  elseif has_tombstone(tombstones, id) then
    redis.call('ZADD', KEYS[6 + priority], now_ms, id)
  else
    redis.call('RPUSH', KEYS[3 + priority], id)
  end
end

-- Takes the key of a replayed task.
local function take_free_key(id, envelope)
  local unique = unique_of(envelope)
  if unique and not holder_of(keys, unique.key, now_ms) then
    take_key(keys, unique, id, now_ms)
  end
end

local replayed = 0
for _, id in ipairs(ids) do
  if redis.call('ZREM', KEYS[1], id) == 1 then
    local token, priority = (redis.call('HGET', KEYS[3], id) or ''):match('^(%d+):%d+:%d+:([123]):')
    local envelope = redis.call('HGET', keys.bodies, id)
    if envelope then
      -- The token stays, because the tokens of a task must grow with every claim.
      token, priority = token or '0', tonumber(priority) or 2
      redis.call('HSET', KEYS[3], id, token .. ':0:0:' .. priority .. ':0:0:0:')
      queue(id, priority, envelope)
      take_free_key(id, envelope)
      add_member_end(KEYS[20], envelope, token, 'waiting')  -- its group has counted it as dead
      replayed = replayed + 1
    else
      redis.call('HDEL', KEYS[3], id)
    end
  end
end
if replayed > 0 then
  notify_one(KEYS[10], now_ms)
end
local left = math.max(0, total - #ids)
ledger_write(ledger, ARGV[1], ARGV[2], left > 0 and replayed .. ' ' .. left or replayed)
return {replayed, left}
