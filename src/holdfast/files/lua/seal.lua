#!lua flags=allow-oom
-- files/seal: no more files: whoever has read all of them is done.
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
-- ARGV[3]   string  force      what is said to be wrong with files that are still being published; '' that is refused
-- ARGV[4]   string  channel     channel of the feed
-- returns  array   status: sealed; opened: names of files that are being published; or what refuses it
-- include clock
-- include sound
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
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
local SHOWN_NAMES = 20  -- names of opened files that are told, in two parts

begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, ARGV[1], ARGV[2])
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
