#!lua flags=allow-oom
-- cache/raise: set a new epoch, which invalidates all values that have stored another one.
--
-- KEYS[1]  STRING  epoch  epoch of a tag, or of a unit of values
-- returns  int     1: raised, 0: there is none, so no value can be valid
-- include clock

local epoch = redis.call('GET', KEYS[1])
if not epoch then
  return 0
end
local _, _, now_us = clock()
local left_ms = math.max(1, redis.call('PTTL', KEYS[1]))
local raised = string.format('%.0f', math.max((tonumber(epoch) or 0) + 1, now_us))
redis.call('SET', KEYS[1], raised, 'PX', string.format('%.0f', left_ms))
return 1
