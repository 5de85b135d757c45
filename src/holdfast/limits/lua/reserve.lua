#!lua
-- limits/reserve: reserve the earliest instant at which costs fit into all limits, or none of them.
--
-- KEYS[1]  STRING  log       what passed, see limits/keys.py
-- ARGV[1]  string  mark      identifies the operation: 6 bytes
-- ARGV[2]  string  longest   longest wait (ms); '': 100 years
-- ARGV[3]  string  age       ms since the first attempt of the operation; '': this is the first attempt
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
-- include reservation

local FIRST = 4
local LIMIT = 4  -- arguments of one limit

local limits, costs = {}, {}
for i = FIRST, #ARGV, LIMIT do
  limits[#limits + 1] = {tag = tonumber(ARGV[i]), amount = tonumber(ARGV[i + 1]), per = tonumber(ARGV[i + 2])}
  costs[#costs + 1] = tonumber(ARGV[i + 3])
end
return reserve(KEYS[1], ARGV[1], ARGV[2], ARGV[3], limits, costs, (clock()))
