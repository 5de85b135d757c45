-- What another program may have changed in the keys of a queue.
-- Expects: tombstones, awaiting.

-- Reads from every key, which fails if the key has another type. What the step needs is kept in
-- *step*: whether the queue is `paused`, whether it has `tombstones`, `awaited` tasks and tasks that
-- are `expiring`, and which ready lists and due sets have ids, by priority.
local function read_keys(step, keys)
  step.paused = redis.call('HEXISTS', keys.settings, 'paused') == 1
  step.tombstones = tombstones_in(keys.tombstones)
  step.awaited = awaited_in(keys.awaited)
  step.any_expiring = redis.call('ZCARD', step.expiring) > 0
  for priority = 1, 3 do
    step.has_ready[priority] = redis.call('LLEN', step.ready[priority]) > 0
    step.has_due[priority] = redis.call('ZCARD', step.due[priority]) > 0
  end
  redis.call('HLEN', step.bodies)
  redis.call('HLEN', step.state)
  redis.call('HLEN', keys.throughput)
  redis.call('ZCARD', step.leases)
  redis.call('ZCARD', step.idle)
  redis.call('ZCARD', step.dead)
end

-- Ends the script with an error that names the key of another type.
local function raise_wrong_type(step, keys)
  local types = {
    {'hash', step.bodies, step.state, keys.awaited, keys.settings, keys.throughput},
    {'zset', step.leases, step.due[1], step.due[2], step.due[3], step.idle, step.dead, step.expiring},
    {'list', step.ready[1], step.ready[2], step.ready[3]},
    {'set', keys.tombstones},
  }
  for _, group in ipairs(types) do
    local wanted = group[1]
    for i = 2, #group do
      local key = group[i]
      local found = redis.call('TYPE', key).ok
      if found ~= wanted and found ~= 'none' then
        error({err = 'DAMAGED ' .. key .. ' is a ' .. found .. ', not a ' .. wanted})
      end
    end
  end
end

-- Reads what the step needs, before the first write. A write that failed later on a key of another
-- type would lose the ids that were already taken from a list.
local function read_queue(step, keys)
  local readable, failure = pcall(read_keys, step, keys)
  if not readable then
    raise_wrong_type(step, keys)
    error(failure)
  end
end
