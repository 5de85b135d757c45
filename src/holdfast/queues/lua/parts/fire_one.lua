-- Fires one schedule.
-- Needs the parts: add_tasks, schedule_record, fire_task.

-- Returns whether the task *id* has not ended.
local function is_under_way(queue, id)
  return redis.call('HEXISTS', queue.bodies, id) == 1 and not redis.call('ZSCORE', queue.dead, id)
end

-- Stores that the occurrences up to `order.last` are handled. The record of a schedule that code declares stays
-- after its end, so that a worker that starts later does not fire it again.
local function store_fired(queue, order, schedule)
  schedule.last, schedule.missed = order.last, schedule.missed + order.missed
  if order.next_ms == '' then
    redis.call('HDEL', queue.schedules, order.name)
    redis.call('ZREM', queue.schedule_times, order.name)
  else
    redis.call('ZADD', queue.schedule_times, order.next_ms, order.name)
  end
  if order.next_ms == '' and schedule.seen == 0 then
    redis.call('HDEL', queue.schedule_state, order.name)
  else
    redis.call('HSET', queue.schedule_state, order.name, packed_schedule(schedule))
  end
end

-- Adds the tasks of *order* to *batch*; `order.wanted` is how many: if the task of an occurrence has to end before the
-- next one, only the first. *room* is how many tasks fit into the queue; false: any number.
local function fire_one(queue, batch, order, args, room)
  local schedule = parse_schedule(redis.call('HGET', queue.schedule_state, order.name))
  local stored = tonumber(redis.call('ZSCORE', queue.schedule_times, order.name) or nil)
  if stored ~= order.instant or schedule.revision ~= order.revision or stored > queue.now_ms then
    return 'stale'
  end
  if order.tasks == 0 then
    store_fired(queue, order, schedule)
    return 'none'
  end
  if order.overlap == 'skip' and is_under_way(queue, schedule.id) then
    schedule.skipped = schedule.skipped + order.tasks
    store_fired(queue, order, schedule)
    return 'skipped'
  end
  order.wanted = order.overlap == 'skip' and 1 or order.tasks
  if room and room < order.wanted then
    return 'full'
  end
  local fired = 0
  for n = 1, order.wanted do
    local at = order.first + 4 * (n - 1)
    local is_fired
    is_fired, schedule.id =
      fire_task(queue, batch, args[at], tonumber(args[at + 1]), args[at + 2], args[at + 3])
    fired = is_fired and fired + 1 or fired
  end
  schedule.fired, schedule.skipped = schedule.fired + fired, schedule.skipped + order.tasks - fired
  store_fired(queue, order, schedule)
  return fired > 0 and 'fired' or 'skipped'
end
