#!lua flags=no-writes
-- files/list: return the newest files that are still stored, or those among them that failed too often.
--
-- KEYS[1]  HASH    meta    definition and highest number
-- KEYS[2]  HASH    files   number -> state of the file
-- ARGV[1]  int     limit   how many numbers of files to check
-- ARGV[2]  int     below   check only numbers below this one; 0: all
-- ARGV[3]  int     failed  1: return only files that failed too often
-- returns  array   empty if there is no feed; otherwise the definition, the number below which to continue ('': none),
--                  and for each file, the newest first: number, name, state, bytes, bytes kept, problem, a digit
--                  for each group (1 finished, 2 failed too often), reason of the latest failure
-- include stored
-- include packed
-- include feed
-- include file

local feed = {meta = KEYS[1], files = KEYS[2]}
read_feed(feed)

local limit, below, failed = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
if not feed.definition then
  return {}
end
local first = below > 0 and math.min(feed.top, below - 1) or feed.top
local low = math.max(1, feed.low)
local last = math.max(low, first - limit + 1)
local reply = {feed.definition, last > low and text(last) or ''}
for number = first, last, -1 do
  local file = file_at(feed, number)
  if file and (not failed or file.done:find('2')) then
    reply[#reply + 1] = text(number)
    reply[#reply + 1] = file.name
    reply[#reply + 1] = file.state
    reply[#reply + 1] = text(file.bytes)
    reply[#reply + 1] = text(file.kept)
    reply[#reply + 1] = file.problem
    reply[#reply + 1] = file.done
    reply[#reply + 1] = file.reason
  end
end
return reply
