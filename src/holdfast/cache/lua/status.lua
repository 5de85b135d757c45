#!lua flags=no-writes
-- cache/status: return what is known about a function.
--
-- KEYS[1]  STRING  definition  options of the function
-- KEYS[2]  HASH    statistics  hour of the day -> hour since 1970, and the counts of this hour
-- returns  array   options ('' if there are none), now (s), then all entries of `statistics`, which may be older than
--                  a day
-- include clock

local _, now_s = clock()
local out = {redis.call('GET', KEYS[1]) or '', string.format('%.0f', now_s)}
for hour = 0, 23 do
  out[#out + 1] = redis.call('HGET', KEYS[2], string.format('%d', hour)) or nil
end
return out
