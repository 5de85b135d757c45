#!lua flags=no-writes
-- queues/group: return fields of the record of a group.
--
-- KEYS[1]  HASH    group  the record of the group
-- ARGV[1]  string  first of the names of fields
-- returns  array   the value of each, nil for one that is not set; then when the group is removed (ms), -1 if it has no
--                  lifetime or does not exist
-- include clock

local FIRST = 1
local names = {}
for i = FIRST, #ARGV do
  names[#names + 1] = ARGV[i]
end
local values = redis.call('HMGET', KEYS[1], unpack(names))
local left_ms = redis.call('PTTL', KEYS[1])
values[#names + 1] = left_ms < 0 and '-1' or string.format('%.0f', clock() + left_ms)
return values
