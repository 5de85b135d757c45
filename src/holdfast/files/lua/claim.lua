#!lua flags=allow-oom
-- files/claim: the next file of a consumer, with its chunk if it is a small one.
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
-- ARGV[2]   string  epoch      of the feed, once it is known here; '' any
-- ARGV[3]   string  session    who claims: 13 digits and the name of the consumer
-- ARGV[4]   int     turn       which claim of the session this is; again, it answers the same
-- ARGV[5]   int     small      bytes of a chunk that is sent along
-- ARGV[6]   int     from       number of the first file to look at
-- returns  array   verdict: file: epoch, number, token, acked, name, born, what is shown of it, the chunk; wait: epoch,
--                  in how many ms a file may be free ('' none will), how many have failed too often, and
--                  the state of the feed; again: the same, and from where on; end; missed: how many;
--                  stranger; crowded; or what refuses it
-- include clock
-- include sound
-- include stored
-- include feed
-- include record
-- include life
-- include file
-- include places
-- include holding
-- include attempts
-- include pick
-- include crowd
-- include grant

local now_ms, _, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], places = KEYS[5],
  alive = KEYS[6], consumers = KEYS[7], opened = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local session, turn, small = ARGV[3], ARGV[4], tonumber(ARGV[5])
local consumer = session:sub(14)

begin_feed(feed, ARGV[1], ARGV[2])
local refused = refusal(feed, ARGV[1], ARGV[2])
if refused then
  return refused
elseif feed.state == 'over' then
  return {'end'}
end
local group = group_of(feed, consumer)
if not group then
  return {'stranger'}
elseif crowded(feed, consumer) then
  return {'crowded'}
end

sweep(feed)
redis.call('ZADD', feed.alive, text(now_ms + feed.terms.lease_ms), session)
local record = show_life(feed, consumer)
if record.untold > 0 then
  save(feed)
  return {'missed', record.untold}
end

local last = redis.call('HGET', feed.places, '*' .. session) or ''
local before = last:match('^' .. turn .. ' (.*)$')
if before then  -- the reply was lost
  before = whole(before, 0, EXACT, 'a session', feed.places)
  local file, place = file_at(feed, before), place_of(feed, group, before)
  if file and place.session == session then
    hold(feed, group, before, place)
    return told_of(feed, before, file, place, small)
  end
end
local function nothing(free_ms, failed)
  save(feed)
  return {'wait', feed.epoch, free_ms and text(free_ms) or '', text(failed), feed.state}
end

if record.after_ms > now_ms then
  return nothing(record.after_ms - now_ms, 0)
end
local number, file, place, rest = pick(feed, group, tonumber(ARGV[6]))
if number then
  place.session, place.token = session, next_token(feed)
  place.read = place.acked  -- it begins there again
  hold(feed, group, number, place)
  redis.call('HSET', feed.places, '*' .. session, turn .. ' ' .. text(number))
  return told_of(feed, number, file, place, small)
end
local told = nothing(rest.held_ms, rest.failed)
if rest.all and feed.state == 'sealed' then
  return {'end'}
end
if rest.next then
  told[1], told[6] = 'again', text(rest.next)
end
return told
