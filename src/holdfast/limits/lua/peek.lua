#!lua flags=no-writes
-- limits/peek: return the usage of a subject without changing it.
--
-- KEYS[1]  STRING  log     what passed, see limits/keys.py
-- ARGV[1]  int     first of the limits: tag, amount, period (ms), cost
-- returns  array   1: ms until the costs would fit
--                  2: the server's time (ms)
--                  3: of each limit: what remains, ms until all of it is free again, and what is reserved later
-- include clock
-- include stored
-- include format
-- include state
-- include log

local FIRST = 1
local LIMIT = 4  -- arguments of one limit

local wall_ms = clock()
local state = read_state(redis.call('GET', KEYS[1]), KEYS[1], wall_ms)
local at, answer = state.now, {0, wall_ms}
for _, log in ipairs(state.logs) do
  at = math.max(at, last_at(log))
end
for i = FIRST, #ARGV, LIMIT do
  local amount = tonumber(ARGV[i + 1])
  local log, later = log_of(state, tonumber(ARGV[i]), tonumber(ARGV[i + 2])), 0
  at = earliest(log, amount, tonumber(ARGV[i + 3]), at)
  for n = 1, #log.entries, SIZE do
    local when, cost = struct.unpack(ENTRY, log.entries, n)
    later = later + (when > state.now and cost or 0)
  end
  answer[#answer + 1] = math.max(0, amount - log.total)
  answer[#answer + 1] = log.entries == '' and 0 or math.max(0, last_at(log) + log.per - state.now)
  answer[#answer + 1] = later
end
answer[1] = math.max(0, at - state.now)
return answer
