#!lua flags=allow-oom
-- files/read: store how far a consumer has read a file, and return the state of the file.
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
-- ARGV[2]   string  session     session that holds the file
-- ARGV[3]   int     number      number of the file
-- ARGV[4]   int     token       token of the assignment
-- ARGV[5]   int     acked       acknowledged bytes
-- ARGV[6]   int     read        bytes that were read; if the file is too large, they may be dropped unacknowledged
-- returns  array   view, then the view of the file (see parts/file); file_taken; or a refusal (see parts/feed)
-- include clock
-- include notify
-- include stored
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
-- include file
-- include positions
-- include lease
-- include budget
-- include retention

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local session, number = ARGV[2], tonumber(ARGV[3])
local acked, read = tonumber(ARGV[5]), tonumber(ARGV[6])

local refused = refusal(feed, '', ARGV[1])
if refused then
  return refused
end
local consumer = session:sub(14)
local group, file = group_of(feed, consumer), file_at(feed, number)
local position = file and group and position_of(feed, group, number)
if not position or not is_held_by(position, session, ARGV[4]) then
  return {'file_taken'}
end
redis.call('ZADD', feed.sessions, text(now_ms + feed.options.lease_ms), session)
local record = renew_consumer(feed, consumer)
if read > position.read or acked > position.acked then
  acked, read = math.min(acked, file.bytes), math.min(read, file.bytes)  -- never beyond the published bytes
  if acked > position.acked then
    position.tries, position.returns, record.failing = 0, 0, 0  -- progress ends a series of failures
  end
  position.acked = math.max(position.acked, acked)
  position.read = math.max(position.read, read, position.acked)
  local more = math.max(0, position.read - position.counted)
  position.counted, record.bytes = position.counted + more, record.bytes + more
  redis.call('HINCRBY', feed.meta, 'done:' .. group, text(more))
  save_record(feed, consumer, record)
  save_position(feed, group, number, position)
  drop_chunks(feed, number, file, first_needed_chunk(feed, number, file, false))
  save_file(feed, number, file)
  notify_one(feed.waiting, now_ms)
end
extend_lease(feed, group, number, position)
save_feed(feed)
return append_view({'view'}, file)
