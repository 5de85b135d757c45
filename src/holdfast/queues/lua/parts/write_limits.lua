-- Collects what a script changes in the keys about limits, and writes it with one command for each of them.
-- Needs the parts: limit_key, write_keys.
--
-- *limits* has what is to be written:
--   admitted_now  scores and ids for `admitted`
--   left          ids that are removed from `limited`
--   ready_now     ids for the ready lists, by priority
--   changed_keys  limit keys with a record to write
--   starting      slot and id of each task that starts with the others of its chunk (see parts/start_turns); false if
--                 each task starts by itself
--   started_now   how many tasks of a key start, by the number of the key (its slot); only counted if `is_changed`
-- A script writes all of this before it counts the tasks of a key with a command, because that count must include them.

-- Returns *limits* with nothing to write. `is_changed` is whether a definition has ever changed; by default, it may have.
local function with_writes(limits)
  limits.definitions, limits.by_slot, limits.changed_keys = {}, {}, {}
  limits.started_now, limits.turns, limits.others, limits.questions = {}, {}, {}, 1
  limits.ahead = {from = 0, before = -1, last = 0, at = 2, size = 16, answers = 0, found = {}}  -- see parts/read_ahead
  limits.admitted_now, limits.left, limits.ready_now, limits.turns_now = {}, {}, {{}, {}, {}}, {0, 0, 0}
  limits.is_changed = limits.is_changed == nil or limits.is_changed
  return limits
end

-- Stores that a task has a permit of the key with this slot. *lane*: 0 if it runs, otherwise its priority.
local function set_admitted(limits, slot, id, lane)
  local now = limits.admitted_now
  local n = #now
  now[n + 1], now[n + 2] = ADMITTED_KEY * slot + lane, id
end

-- Adds the admitted tasks to their ready lists.
local function write_ready_now(limits)
  for priority = 1, 3 do
    if #limits.ready_now[priority] > 0 then
      redis.call('RPUSH', limits.ready[priority], unpack(limits.ready_now[priority]))
      limits.ready_now[priority], limits.others[priority] = {}, nil
    end
    if limits.turns_now[priority] > 0 then
      limits.turns[priority] = redis.call('HINCRBY', limits.limit_keys, 'turns:' .. priority, limits.turns_now[priority])
      limits.turns_now[priority] = 0
    end
  end
end

-- Writes what was collected.
local function write_limits(limits)
  if #limits.left > 0 then
    redis.call('ZREM', limits.limited, unpack(limits.left))
    limits.left, limits.ahead.before = {}, -1
  end
  if #limits.admitted_now > 0 then
    redis.call('ZADD', limits.admitted, unpack(limits.admitted_now))
    limits.admitted_now, limits.started_now = {}, {}
  end
  write_ready_now(limits)
  if #limits.changed_keys > 0 then
    write_keys(limits)
  end
end
