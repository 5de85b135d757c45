#!lua
-- files/redefine: other settings of a feed, if they are still what they were.
--
-- KEYS[1]  HASH    meta        definition
-- ARGV[1]  string  before      MessagePack
-- ARGV[2]  string  definition  likewise
-- returns  array   verdict: redefined; or what refuses it
local meta, before, definition = KEYS[1], ARGV[1], ARGV[2]
-- include sound
-- include feed

local refused = refusal('', '')
if refused then
  return refused
elseif feed.said ~= before and feed.said ~= definition then
  return {'conflict', feed.said}
end
redis.call('HSET', meta, 'definition', definition)
return {'redefined'}
