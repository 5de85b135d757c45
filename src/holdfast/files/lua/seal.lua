#!lua flags=allow-oom
-- files/seal: end publishing, so that consumers end when they have finished all files.
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
-- ARGV[1]   string  definition  '': the stored one; or on_conflict (error, update, or '' for keep), a blank, and the
--                               options as MessagePack
-- ARGV[2]   string  epoch       epoch of the feed; '': any
-- ARGV[3]   string  force       mark files that are being published as damaged, with this problem; '': do not
--                               seal while files are being published
-- ARGV[4]   string  channel     channel of the feed's notifications
-- returns  array   sealed; still_publishing, number of such files, some of their names; or a refusal (see parts/feed)
-- include clock
-- include stored
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
-- include begin
-- include file
-- include positions
-- include budget
-- include upload

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local force, channel = ARGV[3], ARGV[4]
local SHOWN_NAMES = 20  -- twice the number of names in the reply, as HGETALL returns pairs

local definition = begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, definition, ARGV[2])
if refused then
  return refused
elseif feed.state == 'over' then
  return {'sealed'}
end
local left = redis.call('HGETALL', feed.publishing)
if #left > 0 and force == '' then
  local reply = {'still_publishing', #left / 2}
  for i = 2, math.min(#left, SHOWN_NAMES), 2 do
    reply[#reply + 1] = left[i]
  end
  return reply
end
for i = 1, #left, 2 do
  local file = file_at(feed, tonumber(left[i]))
  finish_file(feed, tonumber(left[i]), file, 'damaged', force)
  redis.call('HSET', feed.files, left[i], cmsgpack.pack(file))
end
feed.state = 'sealed'
save_feed(feed)
if feed.left == 0 then
  end_feed(feed, 'over')
end
redis.pcall('SPUBLISH', channel, '')
return {'sealed'}
