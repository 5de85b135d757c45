#!lua flags=allow-oom
-- files/retry: allow files that failed too often to be assigned again.
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
-- ARGV[1]  string  consumer    name of the consumer; '': all
-- ARGV[2]  string  name        name of the file; '': all
-- ARGV[3]  int     from        number of the first file to check
-- ARGV[4]  string  channel     channel of the feed's notifications
-- returns  array   retried, how many, number of the next file to check ('': none); unknown_consumer; or a refusal
--                  (see parts/feed)
-- include clock
-- include stored
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
-- include file
-- include positions
-- include lease

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local FILES_AT_ONCE = 1000  -- files that one call checks
local consumer, name, from, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local refused = refusal(feed, '', '')
if refused then
  return refused
elseif consumer ~= '' and not group_of(feed, consumer) then
  return {'unknown_consumer'}
end
local group = feed.options.mode == 'broadcast' and consumer ~= '' and group_of(feed, consumer)

local retried = 0
local first = math.max(from, lowest_unread(feed))
local last = math.min(feed.top, first + FILES_AT_ONCE - 1)
for number = first, last do
  local file = file_at(feed, number)
  if file and (name == '' or file.name == name) then
    for g = 1, #file.done do
      if has_failed(file, g) and (not group or g == group) then
        local position = position_of(feed, g, number)
        position.tries, position.returns, position.after_ms = 0, 0, 0
        save_position(feed, g, number, position)
        set_group_state(file, g, '0')
        redis.call('HSET', feed.files, text(number), cmsgpack.pack(file))
        redis.call('HINCRBY', feed.meta, 'failed', -1)
        retried = retried + 1
      end
    end
  end
end
save_feed(feed)
redis.pcall('SPUBLISH', channel, '')
return {'retried', retried, last < feed.top and text(last + 1) or ''}
