#!lua
-- files/redefine: other settings of a feed, if they are still what they were.
--
-- KEYS[1]  HASH    meta        definition
-- ARGV[1]  string  before      MessagePack
-- ARGV[2]  string  definition  likewise
-- returns  array   status: redefined; or what refuses it
-- include sound
-- include packed
-- include feed

local before, definition = ARGV[1], ARGV[2]
local feed = {meta = KEYS[1]}
read_feed(feed)

local refused = refusal(feed, '', '')
if refused then
  return refused
elseif feed.definition ~= before and feed.definition ~= definition then
  return {'conflict', feed.definition}
end
redis.call('HSET', feed.meta, 'definition', definition)
return {'redefined'}
