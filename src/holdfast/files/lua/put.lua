#!lua
-- files/put: the next chunks of a file, as many as there is room for; and perhaps its end.
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
-- ARGV[1]   string  definition MessagePack; '' what is stored
-- ARGV[2]   string  epoch      of the feed that this is about; '' any
-- ARGV[3]   string  bell       channel of the feed
-- ARGV[4]   string  waiter     channel of this publisher, if it waits for room; '' it does not
-- ARGV[5]   string  name       of the file
-- ARGV[6]   int     at         index of the first of the chunks
-- ARGV[7]   string  before     digest of the file up to there
-- ARGV[8]   int     bytes      of the file with all these chunks, unpacked
-- ARGV[9]   string  ending     whole, damaged; '' there is more
-- ARGV[10]  string  problem    what is damaged
-- ARGV[11]  int     digest_at  where it stands in a chunk
-- ARGV[12]  string  first of   the chunks
-- returns  array   verdict: stored, full, published, elsewhere, changed, sealed, many; then epoch, room
--                  (bytes), and of the file: number, bytes, state, count, digest; or what refuses it
-- include clock
-- include sound
-- include stored
-- include feed
-- include record
-- include life
-- include file
-- include places
-- include room
-- include limit
-- include keeping
-- include pressure
-- include intake

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], places = KEYS[5],
  alive = KEYS[6], consumers = KEYS[7], opened = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local DIGEST = 32  -- its length
local FIRST = 12
local bell, waiter, name, digest_at = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[11])
local at, before, bytes = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, ARGV[1], ARGV[2])
if refused then
  return refused
end
local function digest_of(i)
  return i < FIRST and before or ARGV[i]:sub(digest_at, digest_at + DIGEST - 1)
end

local entry = entry_of(feed, name)
if entry.state then
  return answer(feed, 'published', entry.number, entry)
end
local number, next = entry.number, FIRST - at  -- the first chunk that is new
local file = number and file_at(feed, number)
if file then
  next = next + file.count
  if next < FIRST or next > #ARGV + 1 then
    return answer(feed, 'elsewhere', number, file)
  elseif digest_of(next - 1) ~= file.digest then
    return answer(feed, 'changed', number, file)
  end
elseif at > 0 then  -- of a file that is not there any more
  return answer(feed, feed.state == 'open' and 'elsewhere' or 'sealed', 0)
end
local need, verdict = file and 0 or file_cost(feed, name), nil
for i = next, #ARGV do
  need = need + charge(#ARGV[i])
end
make_room(feed, need, number)
local limit = limit_of(feed, number)
file = file and file_at(feed, number)  -- less of it may be kept now
if not file then
  file, verdict = begin(feed, name, limit)
  number = feed.top
end
if file then
  verdict = 'stored'
  for i = next, #ARGV do
    if verdict == 'stored' and feed.used + charge(#ARGV[i]) <= limit then
      take_in(feed, number, file, ARGV[i], digest_of(i))
    else
      verdict = 'full'
    end
  end
  local grown = verdict == 'stored' and bytes or file.count * BLOCK
  grow(feed, file, grown)
  if verdict == 'stored' and ARGV[9] ~= '' then
    finish(feed, number, file, ARGV[9], ARGV[10])
  end
  keep_file(feed, number, file)
  redis.pcall('SPUBLISH', bell, '')
end
if verdict == 'full' then
  wait_for_room(feed, waiter)
end
save(feed)
if feed.state == 'sealed' and feed.left == 0 then
  over(feed, 'over')
end
return answer(feed, verdict, number, file, limit)
