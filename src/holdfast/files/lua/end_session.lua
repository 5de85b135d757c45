#!lua flags=allow-oom
-- files/end_session: end a session of a consumer, so that its files can be assigned to other sessions.
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
-- ARGV[1]   string  epoch       epoch of the feed
-- ARGV[2]   string  session     the session
-- ARGV[3]   int     reported    number of missed files that were reported to the consumer
-- ARGV[4]   string  channel     channel of the feed's notifications
-- returns  int     1; 0 if the feed has ended
-- include clock
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

local session, reported, channel = ARGV[2], tonumber(ARGV[3]), ARGV[4]

if refusal(feed, '', ARGV[1]) or feed.state == 'over' then
  return 0
end
local lived = redis.call('ZREM', feed.sessions, session) == 1
redis.call('HDEL', feed.positions, '*' .. session)
if reported > 0 and lived then  -- *lived* is false if the call is repeated, so *reported* counts once
  local record = record_of(feed, session:sub(14))
  record.unreported = math.max(0, record.unreported - reported)
  save_record(feed, session:sub(14), record)
end
save_feed(feed)
redis.pcall('SPUBLISH', channel, '')
return 1
