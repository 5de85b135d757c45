#!lua flags=no-writes
-- messages/fetch: read the unread messages of a reader in some logs, the oldest first.
--
-- KEYS[1]  HASH    meta     first of the logs, three keys each: epoch, top, floor, last, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by what they have acknowledged
-- ARGV[1]  string  reader
-- ARGV[2]  int     limit    messages of all logs together
-- ARGV[3]  int     bytes    of these messages
-- ARGV[4]  int     logs     how many there are
-- ARGV[5]  int     own      the first so many logs get room in the reply before the others
-- ARGV[6]  string  first of the positions, one for each log: the last one that the reader got; '' none
-- returns  array   for each log: epoch ('' no log), top, floor, cursor or the number of the position
--                  ('' not a reader), when the first unread message was sent (ms; '' none is there),
--                  entries: id, sender, body of each; when the message `top` was sent (ms; '' unknown,
--                  or there are entries), 1 if the log holds the position, otherwise 0. With several
--                  logs, only the epoch of a log without new messages
-- include entries
-- include position
-- include reader_state
-- include quota

local PAGE = 16  -- entries read at once: a large message must not cost more
local reader, limit, bytes, logs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local own = tonumber(ARGV[5])
local room = {limit = limit, bytes = bytes, page = PAGE}

local replies, unread = {}, {}
local held, held_bytes = 0, 0  -- entries read so far: a page of each log, or one entry when these suffice

local function read_first(n, reply, log, from, top, last)
  local count = held < limit and held_bytes < bytes and PAGE or 1
  local page = from <= top and redis.call('XRANGE', log, string.format('%.0f', from), '+', 'COUNT', count)
  if not (page and page[1]) then
    reply[TOP_MS] = stamp_of(log, reply[2], last) or ''
    return
  end
  local parts, size = flat(page)
  held, held_bytes = held + #page, held_bytes + size
  reply[SENT_MS] = sent_ms(page[1])
  unread[#unread + 1] = {
    reply = reply, log = log, parts = parts, size = size, since = tonumber(reply[SENT_MS]),
    more = top - from + 1 - #page, is_own = n <= own,
  }
end

local FIRST = 6
local positions = {}
for i = FIRST, #ARGV do
  positions[#positions + 1] = parse_position(ARGV[i])
end
for n = 1, logs do
  local i = 3 * n - 2
  local reply, from, top, last = reader_state(KEYS[i], KEYS[i + 1], KEYS[i + 2], reader, positions[n])
  if from and from > top and logs > 1 and reply[HOLDS] == 1 then
    reply = reply[EPOCH]
  elseif from then
    read_first(n, reply, KEYS[i + 1], from, top, last)
  end
  replies[n] = reply
end
table.sort(unread, function(a, b)
  if a.is_own ~= b.is_own then
    return a.is_own
  end
  return a.since < b.since
end)
for _, each in ipairs(unread) do
  fill(room, each)
end
return replies
