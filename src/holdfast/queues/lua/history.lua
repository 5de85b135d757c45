#!lua flags=no-writes
-- queues/history: find tasks that ended, the latest first.
--
-- KEYS[1]  LIST    history  number:ended_ms:state:attempts:crashes:bytes:id and facts, worker, reason
-- ARGV[1]  int     before   only tasks with a lower number; 0: the latest
-- ARGV[2]  int     limit    tasks at most, 1 to 1000
-- ARGV[3]  string  outcome  done, cancelled, dead, or the kind of a reason; '' any
-- ARGV[4]  string  name     of the task; '' any
-- ARGV[5]  string  search   the id or the reason must contain it, in any case; '' any
-- returns  array   the number to give as *before* in the next call (0 when all was read), and two for each task
--                  found: its number, its record
-- include last_number

local LOOK_LIMIT = 500  -- tasks that one call examines
local history, before, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local outcome, name, search = ARGV[3], ARGV[4], ARGV[5]:lower()

-- Returns whether a task is one of those that the caller wants.
local function is_wanted(record)
  local state, bytes, rest = record:match('^%d+:%d+:(%a+):%d+:%d+:(%d+):(.*)$')
  local id = state and rest:sub(1, tonumber(bytes)) or ''
  local name_bytes, more = (rest or ''):match('^%d*:(%d+):(.*)$', #id + 1)
  if not name_bytes then
    return outcome == '' and name == '' and search == ''
  end
  local own_name = more:sub(1, tonumber(name_bytes))
  local reason = more:match('^%S* (.*)$', #own_name + 1) or ''
  return (outcome == '' or outcome == state or state == 'dead' and outcome == reason:match('^[%w-]+'))
    and (name == '' or name == own_name)
    and (search == '' or (id .. '\n' .. reason):lower():find(search, 1, true) ~= nil)
end

-- The numbers have no gaps, so the number of the last record gives the position of each one.
local length, last = redis.call('LLEN', history), last_number(history)
local behind = before > 0 and math.max(0, last - before + 1) or 0
local stop = length - 1 - behind
local start = math.max(0, stop - LOOK_LIMIT + 1)
local records = stop >= 0 and redis.call('LRANGE', history, start, stop) or {}
local reply, number = {0}, last - behind
for i = #records, 1, -1 do
  if is_wanted(records[i]) then
    reply[#reply + 1], reply[#reply + 2] = number, records[i]
  end
  if #reply > 2 * limit then
    start = start + i - 1
    break
  end
  number = number - 1
end
if start > 0 then
  reply[1] = last - (length - 1 - start)
end
return reply
