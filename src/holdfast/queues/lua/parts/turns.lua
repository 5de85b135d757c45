-- Lets the keys of a fair limit take turns: each has one ready task of each priority at most, and its next
-- one goes to the end of the ready list when that task is claimed.
-- Needs the parts: limit_key.
--
-- The fields `turns:PRIORITY` of `limit_keys` count the tasks that were put at the end. The `turn` of a key without ready
-- tasks is that count at the time when its last task was claimed. Once all tasks that were in the list then are
-- claimed, each key has had its turn, and this one is new again. The first task of a new key overtakes the ready
-- lists: it goes to the due set. So a key that has few tasks gains nothing by sending them one by one.

-- Returns how many tasks were put at the end of a ready list.
local function turns_of(limits, priority)
  limits.turns[priority] = limits.turns[priority] or tonumber(redis.call('HGET', limits.limit_keys, 'turns:' .. priority) or 0)
  return limits.turns[priority]
end

-- Returns whether each key that was ready when this one was claimed last has had its turn.
local function had_turn(limits, key)
  return key.turn == 0
    or turns_of(limits, key.priority) - redis.call('LLEN', limits.ready[key.priority]) >= key.turn
end

-- Queues an admitted task of *key*: at the end of its ready list; or before the ready lists, in the due set, if the key
-- is new. `limits.follows` is set while another task of the key starts; then the key is not new.
local function take_turn(limits, key, id, priority)
  if not limits.follows and had_turn(limits, key) then
    redis.call('ZADD', limits.due[priority], limits.now_ms, id)
  else
    local ready = limits.ready_now[priority]
    ready[#ready + 1] = id
    limits.turns_now[priority] = limits.turns_now[priority] + 1
  end
end

-- Returns the turn of a key with its last task claimed now; 0 if no other task is ready. `limits.others` has the lengths
-- of the ready lists while they do not change.
local function turn_now(limits, priority)
  local others = limits.others[priority] or redis.call('LLEN', limits.ready[priority])
  limits.others[priority] = others
  return others + #limits.ready_now[priority] > 0 and turns_of(limits, priority) + limits.turns_now[priority] or 0
end

-- Stores the *turn* of a key: its last task was claimed then.
local function end_turn(limits, key, priority, turn)
  if turn ~= key.turn then
    key.turn, key.priority = turn, priority
    write_key(limits, key)
  end
end
