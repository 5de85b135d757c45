#!lua flags=allow-oom
-- files/read: how far the reader of a file has come, and what more there is of it.
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
-- ARGV[2]   string  session    who holds the file
-- ARGV[3]   int     number     of the file
-- ARGV[4]   int     token      of the grant
-- ARGV[5]   int     acked      bytes that it is done with
-- ARGV[6]   int     read       bytes that it may do without, if their room is needed
-- returns  array   verdict: shown: then that; lost; or what refuses it
-- include clock
-- include bell
-- include sound
-- include stored
-- include feed
-- include record
-- include life
-- include file
-- include places
-- include holding
-- include room
-- include keeping

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], places = KEYS[5],
  alive = KEYS[6], consumers = KEYS[7], opened = KEYS[8], waiting = KEYS[9],
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
local place = file and group and place_of(feed, group, number)
if not place or not is_held_by(place, session, ARGV[4]) then
  return {'lost'}
end
redis.call('ZADD', feed.alive, text(now_ms + feed.terms.lease_ms), session)
local record = show_life(feed, consumer)
if read > place.read or acked > place.acked then
  acked, read = math.min(acked, file.bytes), math.min(read, file.bytes)  -- of what there is
  if acked > place.acked then
    place.tries, place.returns, record.failing = 0, 0, 0  -- it gets on
  end
  place.acked = math.max(place.acked, acked)
  place.read = math.max(place.read, read, place.acked)
  local more = math.max(0, place.read - place.counted)
  place.counted, record.bytes = place.counted + more, record.bytes + more
  redis.call('HINCRBY', feed.meta, 'done:' .. group, text(more))
  keep_record(feed, consumer, record)
  keep_place(feed, group, number, place)
  drop(feed, number, file, needed(feed, number, file, false))
  keep_file(feed, number, file)
  notify_one(feed.waiting, now_ms)
end
hold(feed, group, number, place)
save(feed)
return show({'shown'}, file)
