#!lua flags=no-writes
-- queues/group: return fields of the record of a group.
--
-- KEYS[1]  HASH    group  the record of the group
-- ARGV[1]  string  first of the names of fields
-- returns  array   the value of each, nil for one that is not set
local FIRST = 1
local names = {}
for i = FIRST, #ARGV do
  names[#names + 1] = ARGV[i]
end
return redis.call('HMGET', KEYS[1], unpack(names))
