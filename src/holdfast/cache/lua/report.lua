#!lua
-- cache/report: add what a process has counted about a function, for operators.
--
-- KEYS[1]  STRING  definition  options of the function
-- KEYS[2]  HASH    statistics  hour of the day -> hour since 1970, and the counts of this hour
-- ARGV[1]  string  definition  options of the function, as JSON
-- ARGV[2]  int     kept_ms     ms until both keys expire
-- ARGV[3]  int     first of the counts
-- returns  int     the hour
-- include clock

local definition, statistics, kept_ms = KEYS[1], KEYS[2], ARGV[2]
local FIRST = 3
local _, now_s = clock()
local hour = math.floor(now_s / 3600)
local field = string.format('%d', hour % 24)
local counts = {}
for count in (redis.call('HGET', statistics, field) or ''):gmatch('%S+') do
  counts[#counts + 1] = tonumber(count) or 0
end
local is_same = counts[1] == hour
local sums = {string.format('%.0f', hour)}
for i = FIRST, #ARGV do
  sums[#sums + 1] = string.format('%.0f', (is_same and counts[#sums + 1] or 0) + tonumber(ARGV[i]))
end
redis.call('HSET', statistics, field, table.concat(sums, ' '))
redis.call('PEXPIRE', statistics, kept_ms)
redis.call('SET', definition, ARGV[1], 'PX', kept_ms)
return hour
