#!lua
-- queues/close_group: note that all members of a group are stored.
--
-- KEYS[1]  HASH    group  the record of the group
-- returns  string  the state of the group; gone if there is none
local state = redis.call('HGET', KEYS[1], 'state')
if not state then
  return 'gone'
end
redis.call('HSET', KEYS[1], 'closed', '1')
return state
