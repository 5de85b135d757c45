#!lua flags=allow-oom
-- files/claim: assign the next file to a consumer; return it, with its chunk if it has a single small one.
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
-- ARGV[3]   string  session     13 digits and the name of the consumer
-- ARGV[4]   int     turn        number of this claim; a claim that is repeated with its number returns the same file
-- ARGV[5]   int     small       maximum bytes of a chunk in the reply
-- ARGV[6]   int     from        number of the first file to check
-- returns  array   one of these, which begin with a word:
--                  file, epoch, number of the file, token of its lease, acked bytes, name, when its upload began (µs),
--                  view of the file (see parts/file), its chunk if it is small
--                  wait, epoch, ms until a file may be free ('': no file is held or paused), number of files that
--                  failed too often, feed state
--                  more, the values of `wait`, number of the next file to check: call again with it
--                  missed, number of files that were dropped unread
--                  end; unknown_consumer; too_many_consumers; or a refusal (see parts/feed)
-- include clock
-- include stored
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
-- include begin
-- include file
-- include positions
-- include lease
-- include attempts
-- include next_file
-- include consumers
-- include assignment

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local session, turn, small = ARGV[3], ARGV[4], tonumber(ARGV[5])
local consumer = session:sub(14)

local definition = begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, definition, ARGV[2])
if refused then
  return refused
elseif feed.state == 'over' then
  return {'end'}
end
local group = group_of(feed, consumer)
if not group then
  return {'unknown_consumer'}
elseif is_full(feed, consumer) then
  return {'too_many_consumers'}
end

remove_expired_sessions(feed)
redis.call('ZADD', feed.sessions, text(now_ms + feed.options.lease_ms), session)
local record = renew_consumer(feed, consumer)
if record.unreported > 0 then
  save_feed(feed)
  return {'missed', record.unreported}
end

local last = redis.call('HGET', feed.positions, '*' .. session) or ''
local before = last:match('^' .. turn .. ' (.*)$')
if before then  -- the reply was lost, so return the same file
  before = whole(before, 0, EXACT, 'a session', feed.positions)
  local file, position = file_at(feed, before), position_of(feed, group, before)
  if file and position.session == session then
    extend_lease(feed, group, before, position)
    return assignment_reply(feed, before, file, position, small)
  end
end
local function nothing(free_ms, failed)
  save_feed(feed)
  return {'wait', feed.epoch, free_ms and text(free_ms) or '', text(failed), feed.state}
end

if record.after_ms > now_ms then
  return nothing(record.after_ms - now_ms, 0)
end
local number, file, position, rest = next_file(feed, group, tonumber(ARGV[6]))
if number then
  position.session, position.token = session, next_token(feed)
  position.read = position.acked  -- the new reader begins at the acknowledged offset
  extend_lease(feed, group, number, position)
  redis.call('HSET', feed.positions, '*' .. session, turn .. ' ' .. text(number))
  return assignment_reply(feed, number, file, position, small)
end
local reply = nothing(rest.held_ms, rest.failed)
if rest.all and feed.state == 'sealed' then
  return {'end'}
end
if rest.next then
  reply[1], reply[6] = 'more', text(rest.next)
end
return reply
