#!lua flags=allow-oom
-- files/leave: a session of a consumer ends; what it holds may be given to others.
--
-- KEYS[1]  HASH    meta       definition, epoch, state, budget used, and how many files
-- KEYS[2]  HASH    names      file -> number, state, bytes, digest
-- KEYS[3]  HASH    files      number -> what is known of the file
-- KEYS[4]  HASH    chunks     file:index -> chunk
-- KEYS[5]  HASH    places     where the groups stand
-- KEYS[6]  ZSET    alive      sessions, scored by the end of their leases (ms)
-- KEYS[7]  HASH    consumers  what they have done
-- KEYS[8]  HASH    opened     number -> name of a file that is being published
-- KEYS[9]  ZSET    waiting    channels of publishers, scored by when they give up (ms)
-- ARGV[1]   string  epoch      of the feed
-- ARGV[2]   string  session
-- ARGV[3]   int     told       of so many files that it missed the consumer was told
-- ARGV[4]   string  bell       channel of the feed
-- returns  int     1; 0: there is nothing to leave
-- include clock
-- include sound
-- include stored
-- include feed
-- include record
-- include life

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], places = KEYS[5],
  alive = KEYS[6], consumers = KEYS[7], opened = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local session, told, bell = ARGV[2], tonumber(ARGV[3]), ARGV[4]

if refusal(feed, '', ARGV[1]) or feed.state == 'over' then
  return 0
end
local lived = redis.call('ZREM', feed.alive, session) == 1
redis.call('HDEL', feed.places, '*' .. session)
if told > 0 and lived then  -- not again, should the reply be lost
  local record = record_of(feed, session:sub(14))
  record.untold = math.max(0, record.untold - told)
  keep_record(feed, session:sub(14), record)
end
save(feed)
redis.pcall('SPUBLISH', bell, '')
return 1
