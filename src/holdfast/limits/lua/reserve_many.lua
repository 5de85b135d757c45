#!lua
-- limits/reserve_many: make several new reservations with the same limits, each as limits/reserve, in this order.
--
-- KEYS[1]  STRING  log     first of the subjects, one for each reservation: what passed, see limits/keys.py
-- ARGV[1]  int     count   number of limits
-- ARGV[2]  int     first of the limits: tag, amount, period (ms); then for each reservation its mark, its longest
--                          wait (ms; '': 100 years), and the cost for each limit
-- returns  array   the reply to each, as of limits/reserve; nil: it failed and changed nothing, call limits/reserve
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

local FIRST = 2
local LIMIT = 3  -- arguments of one limit

local wall_ms, limits = clock(), {}
local first_reservation = FIRST + LIMIT * tonumber(ARGV[1])
for i = FIRST, first_reservation - 1, LIMIT do
  limits[#limits + 1] = {tag = tonumber(ARGV[i]), amount = tonumber(ARGV[i + 1]), per = tonumber(ARGV[i + 2])}
end
local answers, n = {}, 0
for i = first_reservation, #ARGV, 2 + #limits do
  local mark, longest, costs = ARGV[i], ARGV[i + 1], {}
  for i = i + 2, i + 1 + #limits do
    costs[#costs + 1] = tonumber(ARGV[i])
  end
  n = n + 1
  -- A damaged subject must not fail the others.
  local succeeded, answer = pcall(reserve, KEYS[n], mark, longest, '', limits, costs, wall_ms)
  answers[n] = succeeded and answer
end
return answers
