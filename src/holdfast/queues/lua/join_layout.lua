#!lua
-- queues/join_layout: store the version of a layout in a partition, so that it refuses producers that know only an
-- earlier layout.
--
-- KEYS[1]  HASH    settings  layout: the version of the layout
-- KEYS[2]  HASH    bodies    id -> envelope
-- ARGV[1]  string  version
-- returns  string  'joined'; 'later', if it knows a later one; or 'taken', if it is another queue with tasks

local known = redis.call('HGET', KEYS[1], 'layout')
if not known and redis.call('EXISTS', KEYS[2]) == 1 then
  return 'taken'
end
if tonumber(known or 0) > tonumber(ARGV[1]) then
  return 'later'
end
redis.call('HSET', KEYS[1], 'layout', ARGV[1])
return 'joined'
