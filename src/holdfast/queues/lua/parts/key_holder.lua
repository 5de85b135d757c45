-- Finds the task that holds a key. An entry counts only if its task exists and names the key: so an entry
-- that was left over, by an older version or another program, blocks nothing.
-- Needs the parts: unique, step_index.

-- Returns the task that holds *key*, as a table; nil if the key is free:
--   id         of the task
--   latest_ms  the latest instant to which the task may be postponed; 0: no limit
--   waits      whether it is queued or delayed, and has asked for no step; otherwise it has begun, or is done
-- *keys* has the keys bodies, leases, dead, unique, kept and step_index.
local function holder_of(keys, key, now_ms)
  local latest_ms, id = (redis.call('HGET', keys.unique, key) or ''):match('^(%d+):(.*)$')
  local envelope = id and redis.call('HGET', keys.bodies, id)
  local unique = envelope and unique_of(envelope)
  if unique and unique.key == key and not redis.call('ZSCORE', keys.dead, id) then
    local waits = not redis.call('ZSCORE', keys.leases, id) and not has_steps(keys, id)
    if waits or unique.lasts ~= 'start' then
      return {id = id, latest_ms = tonumber(latest_ms), waits = waits}
    end
  end
  local until_ms, done = (redis.call('HGET', keys.kept, key) or ''):match('^(%d+):(.*)$')
  if done and tonumber(until_ms) > now_ms then
    return {id = done, latest_ms = 0, waits = false}
  end
  return nil
end
