#!lua flags=allow-oom
-- files/renew: extend leases of sessions and files.
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
-- ARGV[1]   int     lease_ms   duration of the leases when they began; the feed's lease is used if it is longer
-- ARGV[2]   string  first of   the leases, two arguments each:
--                              of a session: the session, 0
--                              of a file: number of the file, blank and session; token of the assignment
-- returns  array   the pairs of the lost leases: the feed has ended, or the session does not hold the file
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

local FIRST = 2
local lost = {}
local is_active = feed.definition and feed.state ~= 'over' and feed.state ~= 'aborted'
local lease_ms = math.max(tonumber(ARGV[1]), is_active and feed.options.lease_ms or 0)

local function renew_session(_, session)
  redis.call('ZADD', feed.sessions, text(now_ms + lease_ms), session)
  renew_consumer(feed, session:sub(14))
  return true
end

-- Extends the lease of a file. Returns false if the session does not hold the file.
local function renew_file(number, session, token)
  number = tonumber(number)
  local group = group_of(feed, session:sub(14))
  local position = group and position_of(feed, group, number)
  if not position or not is_held_by(position, session, token) then
    return false
  end
  extend_lease(feed, group, number, position, lease_ms)
  return true
end

for i = FIRST, #ARGV, 2 do
  local member, token = ARGV[i], ARGV[i + 1]
  local number, session = member:match('^(%d+) (.*)$')
  local renew = token == '0' and renew_session or renew_file
  if not is_active or not renew(number, token == '0' and member or session, token) then
    lost[#lost + 1] = member
    lost[#lost + 1] = token
  end
end
if is_active then
  save_feed(feed)
end
return lost
