#!lua flags=no-writes
-- messages/fetch: what a reader has to read in some logs, the longest unread first.
--
-- KEYS[1]  HASH    meta     first of the logs, three keys each: epoch, top, floor
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by what they have acknowledged
-- ARGV[1]  string  reader
-- ARGV[2]  int     limit    messages from all together; 0: only say where the reader stands
-- ARGV[3]  int     bytes    what these may take
-- ARGV[4]  int     logs     how many there are
-- ARGV[5]  string  first of what a device has, in pairs for each log: epoch ('' says nothing), seq
-- returns  array   for each log: epoch ('' there is none), top, floor, cursor, or what the device
--                  has ('' no reader of it), when the first unread message was sent (ms; '' none is
--                  there), entries: id, sender, body of each
-- include entries
-- include position

local PAGE = 16  -- entries looked at in one go: a large one must not cost many
local reader, limit, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local rows, unread = {}, {}
local held, held_bytes = 0, 0  -- looked at up to now: the first of every log, more while these are few

local function look(row, log)
  local from = math.max(tonumber(row[4]), tonumber(row[3]) - 1) + 1
  if from > tonumber(row[2]) then
    return
  end
  local count = held < limit and held_bytes < bytes and PAGE or 1
  local page = redis.call('XRANGE', log, string.format('%.0f', from), '+', 'COUNT', count)
  if page[1] then
    local parts, size = flat(page)
    held, held_bytes = held + #page, held_bytes + size
    row[5] = sent_ms(page[1])
    unread[#unread + 1] = {
      row = row, log = log, parts = parts, size = size, since = tonumber(row[5]),
      more = tonumber(row[2]) - from + 1 - #page,
    }
  end
end

local FIRST = 5
local has = {}
for i = FIRST, #ARGV do
  has[#has + 1] = ARGV[i]
end

for i = 1, 3 * tonumber(ARGV[4]), 3 do
  local known = redis.call('HMGET', KEYS[i], 'epoch', 'top', 'floor')
  local cursor, n = redis.call('ZSCORE', KEYS[i + 2], reader), (i - 1) / 3 * 2 + 1
  local from = start(cursor, known, has[n], has[n + 1])
  local row = {known[1] or '', known[2] or '0', known[3] or '1', from, '', {}}
  rows[#rows + 1] = row
  if known[1] and cursor and limit > 0 then
    look(row, KEYS[i + 1])
  end
end

-- Gives a row the entries that there is room for; false when something had to stay.
local function give(row, parts, size)
  if #row[6] == 0 and #parts <= 3 * limit and size <= bytes then  -- the rule
    limit, bytes = limit - #parts / 3, bytes - size
    row[6] = parts
    return true
  end
  local given = row[6]
  for i = 1, #parts, 3 do
    bytes = bytes - #parts[i + 1] - #parts[i + 2]
    if bytes < 0 or limit <= 0 then
      limit = 0
      return false
    end
    limit = limit - 1
    for n = i, i + 2 do
      given[#given + 1] = parts[n]
    end
  end
  return true
end

local function fill(each)
  local row, open = each.row, give(each.row, each.parts, each.size)
  for _ = 1, math.ceil(math.min(limit, each.more) / PAGE) do
    if open then
      local after = '(' .. id_of(row[6][#row[6] - 2])
      open = give(row, flat(redis.call('XRANGE', each.log, after, '+', 'COUNT', PAGE)))
    end
  end
end

table.sort(unread, function(a, b)
  return a.since < b.since
end)
for _, each in ipairs(unread) do
  fill(each)
end
return rows
