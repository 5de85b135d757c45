#!lua flags=no-writes
-- messages/fetch: return unread messages of a reader in some logs, the oldest first.
--
-- KEYS[1]  HASH    meta     first of the logs, three keys each: epoch, top, floor, last, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by the number up to which they have acknowledged
-- ARGV[1]  string  reader   the reader
-- ARGV[2]  int     limit    maximum number of messages, of all logs together
-- ARGV[3]  int     bytes    maximum bytes of these messages
-- ARGV[4]  int     own      number of logs, the first ones, that get room in the reply before the others
-- ARGV[5]  int     brief    1: only report logs with news; 0: report all
-- ARGV[6]  string  first of the logs, two arguments each: the last position that the reader got ('': none), and the
--                  state that an earlier brief call with this position returned ('': none)
-- returns  array   for each log that is reported, its number and an array:
--                  1  epoch; '' if there is no log
--                  2  top
--                  3  floor
--                  4  cursor, or the number of the device's position; '' if the user is not a reader
--                  5  when the first unread message was sent (ms); '' if the log has none
--                  6  entries: id, sender, body of each
--                  7  when the message top was sent (ms); '' if unknown, or if there are entries
--                  8  1 if the position is valid, 0 if the server lost it
--                  If brief: only the state EPOCH:NUMBER-MS, in place of the array, for a log without new messages
--                  and with a valid position; NUMBER-MS is the id of its newest message. A log is not reported if
--                  this is the given state.
-- include entries
-- include position
-- include reader_state
-- include quota

local PAGE = 16  -- entries read at a time; few, because all may be large
local reader, limit, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local own, brief = tonumber(ARGV[4]), ARGV[5] == '1'
local room = {limit = limit, bytes = bytes, page = PAGE}

local replies, unread = {}, {}
local held, held_bytes = 0, 0  -- entries and bytes read so far

-- Reads the first entries of the log number *n*: a page, or only one entry if enough entries for the reply were read.
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

-- Reads the log number *n*. Its keys begin at KEYS[i].
local function read(n, i, position, state)
  local log, cursors = KEYS[i + 1], KEYS[i + 2]
  local known, cursor = read_state(KEYS[i], cursors, reader)
  if state ~= '' and is_same(known, cursor, state) then
    return
  end
  local reply, from, top = reader_state(KEYS[i], log, known, cursor, reader, parse_position(position))
  if brief and from and tonumber(reply[CURSOR]) == top and reply[HOLDS] == 1 then
    reply = state_of(known)
  elseif from then
    read_first(n, reply, log, from, top, known[4])
  end
  replies[#replies + 1] = n
  replies[#replies + 1] = reply
end

local FIRST = 6
local n = 0
for i = FIRST, #ARGV, 2 do
  n = n + 1
  read(n, 3 * n - 2, ARGV[i], ARGV[i + 1])
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
