#!lua flags=no-writes
-- files/status: return the status of a feed, and the consumers that need its oldest bytes.
--
-- KEYS[1]  HASH    meta       definition, epoch, state and totals of the feed
-- KEYS[2]  HASH    files      number -> state of the file
-- KEYS[3]  HASH    positions  positions of groups in files; claims of sessions
-- KEYS[4]  ZSET    sessions   sessions, scored by the end of their leases (ms)
-- KEYS[5]  HASH    consumers  consumer -> its lease and counts
-- KEYS[6]  HASH    publishing  number -> name of a file that is being published
-- returns  array   empty if there is no feed; otherwise definition, epoch, state, used bytes of the budget, unfinished
--                  files, published bytes, files, files being published, now (ms), consumers that need the oldest
--                  bytes, names and records of the consumers, finished bytes of each group, files that failed too
--                  often
-- include clock
-- include stored
-- include packed
-- include feed
-- include file
-- include positions

local now_ms = clock()
local feed = {
  meta = KEYS[1], files = KEYS[2], positions = KEYS[3],
  sessions = KEYS[4], consumers = KEYS[5], publishing = KEYS[6], now_ms = now_ms,
}
read_feed(feed)

local FILES_AT_ONCE = 1000  -- files that one call checks

-- Returns the consumers that need the oldest stored chunk.
local function holders()
  local found = {}
  local low = lowest_unread(feed)
  for number = low, math.min(feed.top, low + FILES_AT_ONCE - 1) do
    local file = file_at(feed, number)
    if file then
      for g = 1, #file.done do
        local position = not is_settled(file, g) and position_of(feed, g, number)
        if position and math.floor(position.acked / BLOCK) <= file.floor then
          found[#found + 1] = feed.options.mode == 'share' and position.session:sub(14) or feed.options.consumers[g]
        end
      end
      return found
    end
  end
  return found
end

if not feed.definition then
  return {}
end
local known = redis.call('HMGET', feed.meta, 'bytes', 'failed')
local reply = {feed.definition, feed.epoch, feed.state, text(feed.used), text(feed.left), known[1] or '0'}
reply[7], reply[8] = text(feed.top), text(redis.call('HLEN', feed.publishing))
reply[9], reply[10] = text(now_ms), holders()
reply[11], reply[12] = redis.call('HGETALL', feed.consumers), {}
for g = 1, groups(feed) do
  reply[12][g] = redis.call('HGET', feed.meta, 'done:' .. g) or '0'
end
reply[13] = known[2] or '0'
return reply
