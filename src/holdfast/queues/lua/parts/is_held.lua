-- Finds out whether a partition has tasks with the unique key or the limit key of a new task, because an earlier
-- layout put them there.
-- Needs the parts: unique, key_holder, limit, limit_key.

local NEW_KEY = '^0 0 2 %- '  -- the record of a key that has nothing to remember begins so

-- Returns whether tasks with the limit key of *limit* are here, or its rate or a pause is remembered.
local function is_limit_key_used(queue, limit)
  local slot = tonumber(redis.call('HGET', queue.limit_keys, limit.name .. ' ' .. limit.key) or nil)
  if not slot then
    return false
  end
  local record = redis.call('HGET', queue.limit_keys, slot) or ''
  return not record:find(NEW_KEY)
    or redis.call('ZCOUNT', queue.admitted, ADMITTED_KEY * slot, ADMITTED_KEY * slot + ADMITTED_KEY - 1) > 0
    or redis.call('ZCOUNT', queue.limited, LIMITED_KEY * slot, LIMITED_KEY * (slot + 1) - 1) > 0
end

-- Returns whether a task with a key of this *envelope* is here.
local function is_held(queue, envelope)
  local unique, limit = unique_of(envelope), limit_of(envelope)
  return unique and holder_of(queue, unique.key, queue.now_ms) or limit and is_limit_key_used(queue, limit)
end
