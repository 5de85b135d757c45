#!lua flags=allow-oom
-- files/abort: end the feed, delete its files, and notify publishers and consumers.
--
-- KEYS[1]  HASH    meta       definition, epoch, state and totals of the feed
-- KEYS[2]  HASH    names      file -> number, state, bytes, digest
-- KEYS[3]  HASH    files      number -> state of the file
-- KEYS[4]  HASH    chunks     file:index -> chunk
-- KEYS[5]  HASH    positions  positions of groups in files; claims of sessions
-- KEYS[6]  ZSET    sessions   sessions, scored by the end of their leases (ms)
-- KEYS[7]  HASH    consumers  consumer -> its lease and counts
-- KEYS[8]  HASH    publishing  number -> name of a file that is being published
-- KEYS[9]  ZSET    waiting    channels of publishers, scored by when they stop waiting (ms)
-- ARGV[1]   string  definition  options as MessagePack; '': the stored ones
-- ARGV[2]   string  epoch       epoch of the feed; '': any
-- ARGV[3]   string  channel     channel of the feed's notifications
-- returns  array   status: aborted; or a refusal (see parts/feed)
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
