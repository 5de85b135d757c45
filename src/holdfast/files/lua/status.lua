#!lua flags=no-writes
-- files/status: how a feed stands, and who holds it up.
--
-- KEYS[1]  HASH    meta       definition, epoch, state, budget used, and how many files
-- KEYS[2]  HASH    files      number -> what is known of the file
-- KEYS[3]  HASH    places     where the groups stand
-- KEYS[4]  ZSET    alive      sessions, scored by the end of their leases (ms)
-- KEYS[5]  HASH    consumers  what they have done
-- KEYS[6]  HASH    opened     number -> name of a file that is being published
-- returns  array   nothing: there is none; or definition, epoch, state, used, left, bytes, files, of
--                  which open, now (ms), the consumers that it waits for, names and records of the consumers, of the
--                  groups the bytes that they are done with, and how many files failed too often
-- include clock
-- include sound
-- include stored
-- include feed
-- include file
-- include places

local now_ms = clock()
local feed = {
  meta = KEYS[1], files = KEYS[2], places = KEYS[3],
  alive = KEYS[4], consumers = KEYS[5], opened = KEYS[6], now_ms = now_ms,
}
read_feed(feed)

local LOOK = 1000  -- files looked at in one go

-- Those who need the oldest chunk that is kept.
local function holders()
  local found = {}
  local low = lowest(feed)
  for number = low, math.min(feed.top, low + LOOK - 1) do
    local file = file_at(feed, number)
    if file then
      for g = 1, #file.done do
        local place = not settled(file, g) and place_of(feed, g, number)
        if place and math.floor(place.acked / BLOCK) <= file.floor then
          found[#found + 1] = feed.terms.mode == 'share' and place.session:sub(14) or feed.terms.consumers[g]
        end
      end
      return found
    end
  end
  return found
end

if not feed.said then
  return {}
end
local known = redis.call('HMGET', feed.meta, 'bytes', 'failed')
local told = {feed.said, feed.epoch, feed.state, text(feed.used), text(feed.left), known[1] or '0'}
told[7], told[8] = text(feed.top), text(redis.call('HLEN', feed.opened))
told[9], told[10] = text(now_ms), holders()
told[11], told[12] = redis.call('HGETALL', feed.consumers), {}
for g = 1, groups(feed) do
  told[12][g] = redis.call('HGET', feed.meta, 'done:' .. g) or '0'
end
told[13] = known[2] or '0'
return told
