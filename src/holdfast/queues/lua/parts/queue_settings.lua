-- Reads the settings of a queue for a step.
-- Needs the parts: history, limit_key, write_limits.

-- Reads the settings. *call* is `redis.call` or `redis.pcall`. Returns whether the queue has limits.
local function read_settings(step, call)
  local settings = call('HMGET', step.keys.settings, 'paused', 'history', 'limited', 'limit', 'starts', 'sweep', 'changed',
    'stepped')
  step.paused, step.history_limit = settings[1] and true, history_limit(settings[2])
  step.limits = settings[3] and with_writes({
    settings = step.keys.settings, limit_keys = step.keys.limit_keys, admitted = step.keys.admitted,
    limited = step.keys.limited, ready = step.keys.ready, due = step.keys.due,
    tombstones = step.keys.tombstones, now_ms = step.now_ms, is_changed = settings[7],
  })
  step.limit, step.starts, step.sweep = settings[4], settings[5], tonumber(settings[6] or nil)
  step.has_steps = settings[8]
  return step.limits
end

-- Reads from each key about limits, which fails if one has another type.
local function read_limits(step)
  redis.call('HLEN', step.keys.limit_keys)
  redis.call('ZCARD', step.keys.admitted)
  redis.call('ZCARD', step.keys.limited)
end
