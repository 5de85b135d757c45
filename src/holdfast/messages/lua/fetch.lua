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
-- ARGV[6]  int     sum      sum of the message numbers in all ids among the next arguments
-- ARGV[7]  string  first of the logs, two arguments each: the last position that the reader got ('': none); and, if an
--                  earlier brief call with this position returned a state: the id of the newest message in it ('': none)
-- returns  array   for each log that is reported: its number, a header, the number of entries, and id, sender, body of each
--                  entry. A header has these values, separated by blanks:
--                  1  epoch; '' if there is no log
--                  2  top
--                  3  floor
--                  4  cursor, or the number of the device's position; '' if the user is not a reader
--                  5  when the first unread message was sent (ms); '' if the log has none
--                  6  when the message top was sent (ms); '' if unknown, or if the log has unread messages
--                  7  1 if the position is valid, 0 if the server lost it
--                  If brief: the header is only the state EPOCH:NUMBER-MS for a log without new messages and with a
--                  valid position; NUMBER-MS is the id of its newest message. A log is not reported if that is the
--                  given id.
-- include entries
-- include position
-- include reader_state
-- include header
-- include quota
-- include quiet

local PAGE = 16  -- entries read at a time; few, because all may be large
local reader, limit, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local own, brief = tonumber(ARGV[4]), ARGV[5] == '1'

local replies, last = {}, 0    -- values of the reply, and how many there are
local unread = {}              -- the logs with entries in the reply
local held, held_bytes = 0, 0  -- entries and bytes in the reply
local is_whole = true          -- whether the reply has all unread entries

local function report(n, header, count)
  replies[last + 1], replies[last + 2], replies[last + 3] = n, header, count
  last = last + 3
end

-- Adds the first entries of the log number *n* to the reply: a page, or only one entry if there are enough for the
-- reply. Returns when the first one was sent (ms); '' if there is none.
local function read_first(n, log, from, top)
  local count = held < limit and held_bytes < bytes and PAGE or 1
  local page = from <= top and redis.call('XRANGE', log, string.format('%.0f', from), '+', 'COUNT', count) or {}
  if not page[1] then
    return ''
  end
  local more, since, first, size = top - from + 1 - #page, sent_ms(page[1]), last + 4, 0
  report(n, '', #page)
  last, size = add_flat(replies, last, page)
  held, held_bytes, is_whole = held + #page, held_bytes + size, is_whole and more <= 0
  unread[#unread + 1] = {first = first, count = #page, more = more, log = log, since = since, is_own = n <= own}
  return since
end

-- Reads the log number *n*. Its keys begin at KEYS[i].
local function read(n, i, position)
  local log, cursors = KEYS[i + 1], KEYS[i + 2]
  local known, cursor = read_state(KEYS[i], cursors, reader)
  local holds, number, from, top = reader_state(KEYS[i], log, known, cursor, reader, position)
  if brief and from and tonumber(number) == top and holds == 1 then
    report(n, state_of(known), 0)
    return
  end
  local at, since = last + 2, from and read_first(n, log, from, top) or ''
  local header = header_of(known, number, since, from and since == '' and stamp_of(log, known[2], known[4]), holds)
  if since == '' then
    report(n, header, 0)
  else
    replies[at] = header
  end
end

local FIRST = 7

-- Returns the set of those logs that have no news. Checks only logs for which the caller gave the id of the newest
-- message.
local function without_news()
  local logs, ids, cursors, n, log = {}, {}, {}, 0, 2
  for i = FIRST, #ARGV, 2 do
    if ARGV[i + 1] ~= '' then
      local cursor = log + 1
      n = n + 1
      logs[n], ids[n], cursors[n] = KEYS[log], ARGV[i + 1], KEYS[cursor]
    end
    log = log + 3
  end
  return n > 0 and quiet_logs(logs, ids, cursors, reader, tonumber(ARGV[6])) or {}
end

-- If this check fails (a log is damaged, or the user may not call a command), all logs are read one by one.
local done, quiet = pcall(without_news)
local n, log = 0, 2
for i = FIRST, #ARGV, 2 do
  n = n + 1
  if not (done and quiet[KEYS[log]]) then
    read(n, log - 1, ARGV[i])
  end
  log = log + 3
end
if is_whole and held <= limit and held_bytes <= bytes then
  return replies
end
return fitted(replies, unread, {limit = limit, bytes = bytes, page = PAGE})
