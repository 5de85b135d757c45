#!lua
-- queues/close_group: note that all members of a group are stored.
--
-- KEYS[1]  HASH    group  the record of the group
-- returns  int     1, or 0 if there is no such group
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'closed', '1')
return 1
