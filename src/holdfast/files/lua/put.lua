#!lua
-- files/put: append chunks to a file, as many as fit into the budget; end the file if *ending* is given.
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
-- ARGV[3]   string  channel     channel of the feed's notifications
-- ARGV[4]   string  waiter      channel to notify when the budget has room; '': the publisher does not wait
-- ARGV[5]   string  name        name of the file
-- ARGV[6]   int     at          index of the first chunk in the call
-- ARGV[7]   string  before      digest of the file before this chunk
-- ARGV[8]   int     bytes       unpacked bytes of the file through the last chunk in the call
-- ARGV[9]   string  ending      whole or damaged if the file ends; '': more chunks follow
-- ARGV[10]  string  problem     why the file is damaged
-- ARGV[11]  int     digest_at   position of the digest in a chunk
-- ARGV[12]  string  first of    the chunks
-- returns  array   status, epoch, room (bytes), and of the file: number, bytes, state, count, digest; the status is
--                  stored: all chunks are stored
--                  full: the budget is used up
--                  published: the file was ended before
--                  wrong_position: the server does not have the chunks before *at*, or has more chunks
--                  differs: the server has other chunks
--                  sealed: publishing has ended (see files/seal), so no file can begin
--                  too_many_files: the limit of files, or of files being published, is reached
--                  or a refusal (see parts/feed)
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
-- include budget_limit
-- include retention
-- include eviction
-- include upload

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local DIGEST = 32  -- length of a digest
local FIRST = 12
local channel, waiter, name, digest_at = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[11])
local at, before, bytes = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local definition = begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, definition, ARGV[2])
if refused then
  return refused
end
local function digest_of(i)
  return i < FIRST and before or ARGV[i]:sub(digest_at, digest_at + DIGEST - 1)
end

local entry = entry_of(feed, name)
if entry.state then
  return put_reply(feed, 'published', entry.number, entry)
end
local number, next = entry.number, FIRST - at  -- *next*: index in ARGV of the first chunk to store
local file = number and file_at(feed, number)
if file then
  next = next + file.count
  if next < FIRST or next > #ARGV + 1 then
    return put_reply(feed, 'wrong_position', number, file)
  elseif digest_of(next - 1) ~= file.digest then
    return put_reply(feed, 'differs', number, file)
  end
elseif at > 0 then  -- the server does not have the file any more, so its first chunk is needed
  return put_reply(feed, feed.state == 'open' and 'wrong_position' or 'sealed', 0)
end
local need, status = file and 0 or file_cost(feed, name), nil
for i = next, #ARGV do
  need = need + charge(#ARGV[i])
end
make_room(feed, need, number)
local limit = budget_limit(feed, number)
file = file and file_at(feed, number)  -- `make_room` may have dropped chunks of it
if not file then
  file, status = begin_file(feed, name, limit)
  number = feed.top
end
if file then
  status = 'stored'
  for i = next, #ARGV do
    if status == 'stored' and feed.used + charge(#ARGV[i]) <= limit then
      append_chunk(feed, number, file, ARGV[i], digest_of(i))
    else
      status = 'full'
    end
  end
  local grown = status == 'stored' and bytes or file.count * BLOCK
  grow(feed, file, grown)
  if status == 'stored' and ARGV[9] ~= '' then
    finish_file(feed, number, file, ARGV[9], ARGV[10])
  end
  save_file(feed, number, file)
  redis.pcall('SPUBLISH', channel, '')
end
if status == 'full' then
  add_waiter(feed, waiter)
end
save_feed(feed)
if feed.state == 'sealed' and feed.left == 0 then
  end_feed(feed, 'over')
end
return put_reply(feed, status, number, file, limit)
