#!lua
-- limits/reserve: reserve the earliest instant at which costs fit into all limits, or none of them.
--
-- KEYS[1]  STRING  log       what passed, see limits/keys.py
-- ARGV[1]  string  mark      identifies the operation: 6 bytes
-- ARGV[2]  string  longest   longest wait (ms); '': LONGEST
-- ARGV[3]  string  age       the operation was attempted first so long ago (ms); '': now
-- ARGV[4]  int     first of the limits: tag, amount, period (ms), cost
-- returns  array   1: 1: reserved, 0: refused and not charged, -1: unknown whether an earlier attempt reserved
--                  2: ms until the instant; if refused, until the costs would fit
--                  3: the instant, by the clock of the state (ms)
--                  4: the server's time (ms)
--                  5: of each limit: what remains, and ms until all of it is free again
-- include clock
-- include stored
-- include format
-- include state
-- include marks
-- include log
-- include entries
-- include write_state
-- include reserve_now

local FIRST = 4
local LIMIT = 4  -- arguments of one limit
local LONGEST = 100 * 366 * 86400 * 1000  -- longest wait (ms): the state has no room for later instants

local wall_ms = clock()
local stored = redis.call('GET', KEYS[1])
if stored and ARGV[3] == '' and #ARGV == FIRST + LIMIT - 1 then
  local i = FIRST
  local tag, amount, per_ms, cost = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local changed, total = reserve_now(stored, wall_ms, ARGV[1], tag, amount, per_ms, cost)
  if changed then
    redis.call('SET', KEYS[1], changed, 'PX', per_ms)
    return {1, 0, wall_ms, wall_ms, amount - total, per_ms}
  end
end
local state = read_state(stored, KEYS[1], wall_ms)
local marked = marked_at(state, ARGV[1], ARGV[3])
local at, logs = state.now, {}
for _, log in ipairs(state.logs) do
  at = math.max(at, last_at(log))
end
for i = FIRST, #ARGV, LIMIT do
  logs[i] = log_of(state, tonumber(ARGV[i]), tonumber(ARGV[i + 2]))
end
if marked then
  at = marked
else
  for i = FIRST, #ARGV, LIMIT do
    at = earliest(logs[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3]), at)
  end
end

local wait_ms = math.max(0, at - state.now)
local is_short = wait_ms <= math.min(tonumber(ARGV[2]) or LONGEST, LONGEST)
local is_reserved = marked or marked == nil and is_short
if is_reserved and not marked then
  for i = FIRST, #ARGV, LIMIT do
    add_entry(logs[i], at, tonumber(ARGV[i + 3]))
  end
  add_mark(state, ARGV[1], at)
  write_state(state, KEYS[1])
elseif state.set_back then  -- Store the new difference, or time would stand still until the old one is made up.
  write_state(state, KEYS[1])
end

local answer = {is_reserved and 1 or marked == false and -1 or 0, wait_ms, at, wall_ms}
for i = FIRST, #ARGV, LIMIT do
  local log = logs[i]
  answer[#answer + 1] = math.max(0, tonumber(ARGV[i + 1]) - log.total)
  answer[#answer + 1] = log.entries == '' and 0 or math.max(0, last_at(log) + log.per - state.now)
end
return answer
