#!lua
-- files/redefine: change the options of a feed if they are still those given.
--
-- KEYS[1]  HASH    meta        definition
-- ARGV[1]  string  before      MessagePack
-- ARGV[2]  string  definition  MessagePack
-- returns  array   status: redefined; or the reason of a refusal
-- include stored
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
