#!lua flags=allow-oom
-- files/abort: drop everything, and notify publishers and consumers.
--
-- KEYS[1]  HASH    meta       definition, epoch, state, budget used, and how many files
-- KEYS[2]  HASH    names      file -> number, state, bytes, digest
-- KEYS[3]  HASH    files      number -> state of the file
-- KEYS[4]  HASH    chunks     file:index -> chunk
-- KEYS[5]  HASH    positions  positions of the groups
-- KEYS[6]  ZSET    sessions   sessions, scored by the end of their leases (ms)
-- KEYS[7]  HASH    consumers  consumer -> its lease and counts
-- KEYS[8]  HASH    publishing  number -> name of a file that is being published
-- KEYS[9]  ZSET    waiting    channels of publishers, scored by when they stop waiting (ms)
-- ARGV[1]   string  definition  MessagePack; '' the stored one
-- ARGV[2]   string  epoch      of the feed; '' any
-- ARGV[3]   string  channel     of the feed
-- returns  array   status: aborted; or the reason of a refusal
-- include clock
-- include notify
-- include stored
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
