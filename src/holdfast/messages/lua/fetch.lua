#!lua flags=no-writes
-- messages/fetch: what a reader has to read in some logs, the longest unread first.
--
-- KEYS[1]  HASH    meta     first of the logs, three keys each: epoch, top, floor, last, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by what they have acknowledged
-- ARGV[1]  string  reader
-- ARGV[2]  int     limit    messages from all together
-- ARGV[3]  int     bytes    what these may take
-- ARGV[4]  int     logs     how many there are
-- ARGV[5]  string  first of the positions, one for each log: what was shown; '' nothing
-- returns  array   for each log: epoch ('' there is none), top, floor, cursor, or where the position
--                  is ('' no reader of it), when the first unread message was sent (ms; '' none is
--                  there), entries: id, sender, body of each; when the message `top` was sent (ms;
--                  '' not known, or there are entries), 1 if the log holds what was shown, else 0.
--                  Of several logs, one in which nothing is new: only its epoch
-- include entries
-- include position
-- include reader_state
-- include quota

local PAGE = 16  -- entries looked at in one go: a large one must not cost many
local reader, limit, bytes, logs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local room = {limit = limit, bytes = bytes, page = PAGE}

local rows, unread = {}, {}
local held, held_bytes = 0, 0  -- looked at up to now: the first of every log, more while these are few

local function look(row, log, from, top, last)
  local count = held < limit and held_bytes < bytes and PAGE or 1
  local page = from <= top and redis.call('XRANGE', log, string.format('%.0f', from), '+', 'COUNT', count)
  if not (page and page[1]) then
    row[7] = stamp_of(log, row[2], last) or ''
    return
  end
  local parts, size = flat(page)
  held, held_bytes = held + #page, held_bytes + size
  row[5] = sent_ms(page[1])
  unread[#unread + 1] = {
    row = row, log = log, parts = parts, size = size, since = tonumber(row[5]),
    more = top - from + 1 - #page,
  }
end

local FIRST = 5
local positions = {}
for i = FIRST, #ARGV do
  positions[#positions + 1] = shown(ARGV[i])
end
for i = 1, 3 * logs, 3 do
  local position = positions[(i + 2) / 3]
  local row, from, top, last = standing(KEYS[i], KEYS[i + 1], KEYS[i + 2], reader, position)
  if from and from > top and logs > 1 and row[8] == 1 then
    row = row[1]
  elseif from then
    look(row, KEYS[i + 1], from, top, last)
  end
  rows[#rows + 1] = row
end
table.sort(unread, function(a, b)
  return a.since < b.since
end)
for _, each in ipairs(unread) do
  fill(room, each)
end
return rows
