#!lua
-- files/redefine: replace the options of a feed unless another program has changed them.
--
-- KEYS[1]  HASH    meta        definition
-- ARGV[1]  string  before      options that the caller has read, as MessagePack
-- ARGV[2]  string  definition  new options, as MessagePack
-- returns  array   redefined; or a refusal (see parts/feed)
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
