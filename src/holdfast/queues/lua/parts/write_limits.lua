-- Collects what a script changes of limits, and writes it with one command for each key.
-- Expects: limit_key, write_keys.
--
-- *limits* has `admitted_now`, `left` and `ready_now`, the scores, ids and lists that are to be written, and
-- `changed_keys`, the keys with a record to write. A key has `counts` if tasks of it are not written yet: by how many
-- more of each priority are ready, run (`running`), and have a place (`all`). `counted_keys` has those keys.

-- Returns *limits* with nothing to write. `is_changed` is whether a definition has ever changed; by default, it may have.
local function with_writes(limits)
  limits.definitions, limits.by_slot, limits.slots, limits.changed_keys = {}, {}, {}, {}
  limits.counted_keys, limits.turns = {}, {}
  limits.admitted_now, limits.left, limits.ready_now, limits.turns_now = {}, {}, {{}, {}, {}}, {0, 0, 0}
  limits.is_changed = limits.is_changed == nil or limits.is_changed
  return limits
end

-- Returns the `counts` of *key*.
local function counts_of(limits, key)
  local counts = key.counts
  if not counts then
    counts = {0, 0, 0, running = 0, all = 0}
    key.counts, limits.counted_keys[#limits.counted_keys + 1] = counts, key
  end
  return counts
end

-- Stores that a task has a place of *key*. *lane*: 0 if it runs, otherwise its priority.
local function set_admitted(limits, key, id, lane)
  local now = limits.admitted_now
  now[#now + 1], now[#now + 2] = ADMITTED_KEY * key.slot + lane, id
end

-- Adds the admitted tasks to their ready lists.
local function write_ready_now(limits)
  for priority = 1, 3 do
    if #limits.ready_now[priority] > 0 then
      redis.call('RPUSH', limits.ready[priority], unpack(limits.ready_now[priority]))
      limits.ready_now[priority] = {}
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
    limits.left = {}
  end
  if #limits.admitted_now > 0 then
    redis.call('ZADD', limits.admitted, unpack(limits.admitted_now))
    limits.admitted_now = {}
  end
  write_ready_now(limits)
  if #limits.changed_keys > 0 then
    write_keys(limits)
  end
  for _, key in ipairs(limits.counted_keys) do
    key.counts = nil
  end
  limits.counted_keys = {}
end
