#!lua flags=no-writes
-- messages/page: messages that are kept, read or not: the newest, or those around a number.
--
-- KEYS[1]  HASH    meta     epoch, floor, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by what they have acknowledged
-- ARGV[1]  string  reader   who must be one, and sees what it may read; '' anybody may look
-- ARGV[2]  string  before   the newest before this number; '' of all
-- ARGV[3]  string  after    instead the oldest after this number; ''
-- ARGV[4]  int     limit    how many
-- ARGV[5]  int     bytes    what these may take; but always one
-- returns  array   verdict: missing: there is no such log; stranger; or found, and entries: id,
--                  sender, body of each, from the number on
-- include stored
-- include entries

local PAGE = 16  -- entries looked at in one go: a large one must not cost many
local meta, log, reader, before, after = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local limit, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local known = redis.call('HMGET', meta, 'epoch', 'floor', 'history', 'first:' .. reader)

if not known[1] then
  return {'missing'}
elseif reader ~= '' and not redis.call('ZSCORE', KEYS[3], reader) then
  return {'stranger'}
end

local floor = whole(known[2], 1, EXACT, 'field floor', meta)
if reader ~= '' and known[3] ~= 'open' then
  floor = math.max(floor, whole(known[4] or '1', 1, EXACT, 'field first:' .. reader, meta))
end
local verb, edge, last = 'XREVRANGE', before == '' and '+' or '(' .. before .. '-0', string.format('%.0f', floor)
if after ~= '' then
  local next_one = math.max(tonumber(after) + 1, floor)
  verb, edge, last = 'XRANGE', string.format('%.0f', next_one), '+'
end
local entries, open = {}, true
for _ = 1, math.ceil(limit / PAGE) do
  local parts = flat(open and redis.call(verb, log, edge, last, 'COUNT', PAGE) or {})
  for i = 1, #parts, 3 do
    bytes = bytes - #parts[i + 1] - #parts[i + 2]
    open = open and #entries < 3 * limit and (bytes >= 0 or #entries == 0)
    if open then
      for n = i, i + 2 do
        entries[#entries + 1] = parts[n]
      end
      edge = '(' .. id_of(parts[i])
    end
  end
  open = open and #parts == 3 * PAGE
end
return {'found', entries}
