#!lua
-- files/redefine: other settings of a feed, if they are still what they were.
--
-- KEYS[1]  HASH    meta        definition
-- ARGV[1]  string  before      MessagePack
-- ARGV[2]  string  definition  likewise
-- returns  array   verdict: redefined; or what refuses it
-- include sound
-- include stored
-- include feed

local before, definition = ARGV[1], ARGV[2]
local feed = {meta = KEYS[1]}
read_feed(feed)

local refused = refusal(feed, '', '')
if refused then
  return refused
elseif feed.said ~= before and feed.said ~= definition then
  return {'conflict', feed.said}
end
redis.call('HSET', feed.meta, 'definition', definition)
return {'redefined'}
