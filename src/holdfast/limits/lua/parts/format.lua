-- The format of the state of a subject: a head, marks with their instants, logs with their entries.

local VERSION = 1
local HEAD = '>BI6BB'  -- version, clock, marks, logs
local LOG = '>I2I5B'  -- tag, period (ms), entries
local SUM = '>I5'  -- before the entries if there are several: the sum of their costs, at most MOST_COST
local AHEAD = '>I6'  -- at the end, if the clock is ahead of the server's: by how much (ms)
local MARK = 6  -- bytes of a mark; its instant follows
local RECORD = 12  -- bytes of a mark with its instant
local SIZE = 11  -- bytes of an entry of a log
local SUM_BYTES = 5
local MARKS = 64  -- marks that are kept
local ENTRY = '>I6I5'  -- instant (ms), cost
local MOST_COST = 1099511627775  -- largest cost that an entry or a sum can store

-- Returns the sum of the costs in *entries*.
local function sum_of(entries)
  local sum = 0
  for i = 1, #entries, SIZE do
    local _, cost = struct.unpack(ENTRY, entries, i)
    sum = sum + cost
  end
  return sum
end
