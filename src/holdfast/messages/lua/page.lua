#!lua flags=no-writes
-- messages/page: return messages that are kept, acknowledged or not.
--
-- KEYS[1]  HASH    meta     epoch, floor, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by the number up to which they have acknowledged
-- ARGV[1]  string  reader   reader who gets the messages, only those that it may read; '': return any message
-- ARGV[2]  string  before   return the newest messages before this number; '': the newest of all
-- ARGV[3]  string  after    return the oldest messages after this number; '': use *before*
-- ARGV[4]  int     limit    maximum number of messages
-- ARGV[5]  int     bytes    maximum bytes of these messages, except that there is at least one
-- returns  array   missing: there is no such log
--                  not_member
--                  found, entries: id, sender, body of each; the newest first with *before*, the oldest with *after*
-- include stored
-- include entries

local PAGE = 16  -- entries read at a time; few, because all may be large
local meta, log, reader, before, after = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local limit, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local known = redis.call('HMGET', meta, 'epoch', 'floor', 'history', 'first:' .. reader)

if not known[1] then
  return {'missing'}
elseif reader ~= '' and not redis.call('ZSCORE', KEYS[3], reader) then
  return {'not_member'}
end

local floor = whole(known[2], 1, EXACT, 'field floor', meta)
if reader ~= '' and known[3] ~= 'open' then
  floor = math.max(floor, whole(known[4] or '1', 1, EXACT, 'field first:' .. reader, meta))
end
local command, from, to = 'XREVRANGE', before == '' and '+' or '(' .. before .. '-0', string.format('%.0f', floor)
if after ~= '' then
  local next_one = math.max(tonumber(after) + 1, floor)
  command, from, to = 'XRANGE', string.format('%.0f', next_one), '+'
end
local entries, open = {}, true
for _ = 1, math.ceil(limit / PAGE) do
  local parts = flat(open and redis.call(command, log, from, to, 'COUNT', PAGE) or {})
  for i = 1, #parts, 3 do
    bytes = bytes - #parts[i + 1] - #parts[i + 2]
    open = open and #entries < 3 * limit and (bytes >= 0 or #entries == 0)
    if open then
      for n = i, i + 2 do
        entries[#entries + 1] = parts[n]
      end
      from = '(' .. id_of(parts[i])
    end
  end
  open = open and #parts == 3 * PAGE
end
return {'found', entries}
