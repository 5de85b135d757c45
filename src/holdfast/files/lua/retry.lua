#!lua flags=allow-oom
-- files/retry: hand out again the files that failed too often.
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
-- ARGV[1]  string  consumer   name; '' all
-- ARGV[2]  string  name       of the file; '' all
-- ARGV[3]  int     from       number of the first file to look at
-- ARGV[4]  string  bell       channel of the feed
-- returns  array   verdict: retried: how many, and from where on there are more ('' none); stranger; or what
--                  refuses it
-- include clock

local meta, names, files, chunks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local places, alive, consumers, opened, waiting = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
-- include sound
-- include feed
-- include record
-- include life
-- include file
-- include places
-- include holding

local LOOK = 1000  -- files looked at in one go
local consumer, name, from, bell = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local refused = refusal('', '')
if refused then
  return refused
elseif consumer ~= '' and not group_of(consumer) then
  return {'stranger'}
end
local group = terms.mode == 'broadcast' and consumer ~= '' and group_of(consumer)

local retried = 0
local first = math.max(from, lowest())
local last = math.min(feed.top, first + LOOK - 1)
for number = first, last do
  local file = file_at(number)
  if file and (name == '' or file.name == name) then
    for g = 1, #file.done do
      if has_failed(file, g) and (not group or g == group) then
        local place = place_of(g, number)
        place.tries, place.returns, place.after_ms = 0, 0, 0
        keep_place(g, number, place)
        mark(file, g, '0')
        redis.call('HSET', files, text(number), cmsgpack.pack(file))
        redis.call('HINCRBY', meta, 'failed', -1)
        retried = retried + 1
      end
    end
  end
end
save()
redis.pcall('SPUBLISH', bell, '')
return {'retried', retried, last < feed.top and text(last + 1) or ''}
