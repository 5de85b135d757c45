-- Decides what happens to a unique task that is to be enqueued.
-- Needs the parts: unique, key_holder.

-- Returns what happens, and the id of the task that holds the key, if another one does:
--   '1'       the task is stored, and takes the key
--   '2'       nothing: the holder stays as it is
--   '3'       the holder gets this envelope
--   '4'       the holder gets this envelope, and its start is postponed
--   'exists'  the producer wants an error
-- *held* has the holders that the same script adds, by key. A task that runs or is done is not changed.
local function decide(queue, held, id, unique, envelope)
  local holder = held[unique.key] or holder_of(queue, unique.key, queue.now_ms)
  if not holder then
    held[unique.key] = {id = id, waits = true}
    return '1', nil
  elseif unique.when == 'raise' then
    return 'exists', holder.id
  elseif holder.waits and envelope:find('^{"v":%d+,"task":"') then  -- one with an id fits no other task
    if unique.when == 'replace' then
      return '3', holder.id
    elseif unique.when == 'postpone' then
      return '4', holder.id
    end
  end
  return '2', holder.id
end

-- Stores that the new task *id* holds its key.
local function take_new_key(queue, unique, id)
  take_key(queue, unique, id, unique.at_most > 0 and queue.now_ms + unique.at_most or 0)
end

-- Examines a few keys, and deletes those with a task that does not exist any more. There are none unless
-- an older version or another program has removed tasks.
local function delete_stale_keys(queue)
  local found = redis.call('HRANDFIELD', queue.unique, 4, 'WITHVALUES')
  for i = 1, #found, 2 do
    local id = found[i + 1]:match('^%d+:(.*)$') or ''
    if redis.call('HEXISTS', queue.bodies, id) == 0 or redis.call('ZSCORE', queue.dead, id) then
      redis.call('HDEL', queue.unique, found[i])
    end
  end
end
