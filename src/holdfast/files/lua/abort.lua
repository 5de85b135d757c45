#!lua flags=allow-oom
-- files/abort: drop everything; publishers and consumers are told.
--
-- KEYS[1]  HASH    meta       definition, epoch, state, budget used, and how many files
-- KEYS[2]  HASH    names      file -> number, state, bytes, digest
-- KEYS[3]  HASH    files      number -> what is known of the file
-- KEYS[4]  HASH    chunks     file:index -> chunk
-- KEYS[5]  HASH    positions  where the groups stand
-- KEYS[6]  ZSET    sessions   sessions, scored by the end of their leases (ms)
-- KEYS[7]  HASH    consumers  what they have done
-- KEYS[8]  HASH    publishing  number -> name of a file that is being published
-- KEYS[9]  ZSET    waiting    channels of publishers, scored by when they give up (ms)
-- ARGV[1]   string  definition MessagePack; '' what is stored
-- ARGV[2]   string  epoch      of the feed, once it is known here; '' any
-- ARGV[3]   string  channel     channel of the feed
-- returns  array   status: aborted; or what refuses it
-- include clock
-- include bell
-- include sound
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local channel = ARGV[3]
local refused = refusal(feed, ARGV[1], ARGV[2])
if refused then
  return refused
end
notify_one(feed.waiting, now_ms)
end_feed(feed, 'aborted')
redis.pcall('SPUBLISH', channel, '')
return {'aborted'}
