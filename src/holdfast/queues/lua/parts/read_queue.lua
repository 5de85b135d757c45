-- Reads a queue before the first write of a step. A write that failed later on a key of another type
-- would lose the ids that were already taken from a list.
-- Needs the parts: tombstones, awaiting, progress, queue_settings.

-- Reads from every key, which fails if the key has another type. Stores in *step* what it needs.
local function read_keys(step)
  local keys = step.keys
  if read_settings(step, redis.call) then
    read_limits(step)
  end
  step.tombstones = tombstones_in(keys.tombstones)
  step.awaited = awaited_in(keys.awaited)
  step.progress = redis.call('HLEN', keys.progress) > 0 and keys.progress
  if step.limits then step.limits.tombstones = step.tombstones end
  step.any_expiring = redis.call('ZCARD', keys.expiring) > 0
  for priority = 1, 3 do
    step.has_ready[priority] = redis.call('LLEN', keys.ready[priority]) > 0 or step.limits  -- settling may queue tasks there
    step.has_due[priority] = redis.call('ZCARD', keys.due[priority]) > 0 or step.limits
  end
  redis.call('HLEN', keys.bodies)  -- this read and the next ones only check the types
  redis.call('HLEN', keys.state)
  redis.call('HLEN', keys.throughput)
  redis.call('ZCARD', keys.leases)
  redis.call('ZCARD', keys.idle)
  redis.call('ZCARD', keys.dead)
  redis.call('LLEN', keys.member_ends)
end

-- Ends the script with an error that names the key of another type.
local function raise_wrong_type(keys)
  local types = {
    {'hash', keys.bodies, keys.state, keys.awaited, keys.settings, keys.throughput, keys.limit_keys, keys.progress},
    {'zset', keys.leases, keys.due[1], keys.due[2], keys.due[3], keys.idle, keys.dead, keys.expiring,
      keys.admitted, keys.limited},
    {'list', keys.ready[1], keys.ready[2], keys.ready[3], keys.member_ends},
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

-- Reads what the step needs. A step that claims nothing takes no id from a list, so it need not check the
-- types: it settles even in a damaged queue.
local function read_queue(step)
  if step.want == 0 then
    read_settings(step, redis.pcall)
    step.tombstones, step.awaited, step.progress = step.keys.tombstones, step.keys.awaited, progress_in(step.keys.progress)
    return
  end
  local readable, failure = pcall(read_keys, step)
  if not readable then
    raise_wrong_type(step.keys)
    error(failure)
  end
end
