#!lua flags=allow-oom
-- files/renew: sessions of consumers live for a lease from now on.
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
-- ARGV[1]   int     lease_ms   what it was when they began; the feed says what it is
-- ARGV[2]   string  first of   the sessions, two arguments each: session, 0
-- returns  array   the pairs of those whose feed is no more
-- include clock

local meta, names, files, chunks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local places, alive, consumers, opened, waiting = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
-- include feed
-- include life

local FIRST = 2
local lost = {}
local goes_on = feed and feed.state ~= 'over' and feed.state ~= 'aborted'
local lease_ms = math.max(tonumber(ARGV[1]), goes_on and terms.lease_ms or 0)
for i = FIRST, #ARGV, 2 do
  if goes_on then
    redis.call('ZADD', alive, text(now_ms + lease_ms), ARGV[i])
    show_life(ARGV[i]:sub(14))
  else
    lost[#lost + 1] = ARGV[i]
    lost[#lost + 1] = ARGV[i + 1]
  end
end
if goes_on then
  save()
end
return lost
