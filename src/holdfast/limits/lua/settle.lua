#!lua flags=allow-oom
-- limits/settle: correct the costs of a reservation.
--
-- KEYS[1]  STRING  log     what passed, see limits/keys.py
-- ARGV[1]  string  mark    identifies the operation: 6 bytes
-- ARGV[2]  string  age     ms since the first attempt of the operation; '': this is the first attempt
-- ARGV[3]  string  undone  mark of the reservation, if it is given back; '': it is corrected
-- ARGV[4]  string  at      the instant of the reservation, by the clock of the state (ms); '': unknown
-- ARGV[5]  int     first of the limits: tag, period (ms), change of the cost
-- returns  int     1: corrected, or the reservation no longer counts; -1: unknown whether an earlier attempt
--                  has corrected it
-- include clock
-- include stored
-- include format
-- include state
-- include marks
-- include log
-- include entries
-- include correct
-- include write_state

local FIRST = 5
local LIMIT = 3  -- arguments of one limit

local state = read_state(redis.call('GET', KEYS[1]), KEYS[1], (clock()))
local marked = marked_at(state, ARGV[1], ARGV[2])
if marked ~= nil then
  return marked and 1 or -1
end
local at = tonumber(ARGV[4]) or marked_at(state, ARGV[3], 0)
if not at then
  return 1
end
for i = FIRST, #ARGV, LIMIT do
  local log = log_of(state, tonumber(ARGV[i]), tonumber(ARGV[i + 1]))
  if at > state.now - log.per then
    correct_entry(log, at, tonumber(ARGV[i + 2]))
  end
end
remove_mark(state, ARGV[3])
add_mark(state, ARGV[1], at)
write_state(state, KEYS[1])
return 1
