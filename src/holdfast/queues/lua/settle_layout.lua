#!lua
-- queues/settle_layout: stop serving removed partitions without tasks; forget earlier layouts.
--
-- KEYS[1]  HASH    settings  layout
-- ARGV[1]  string  version   of the layout that the caller has examined
-- ARGV[2]  int     served    partitions that workers serve from now on
-- ARGV[3]  int     forget    1 to forget the earlier layouts
-- ARGV[4]  string  channel   notified, so that processes read the layout again
-- returns  string  the layout; '' if there is none. If the caller has examined another one, nothing changes

local channel = ARGV[4]
local layout = redis.call('HGET', KEYS[1], 'layout') or ''
local version, partitions, _, earlier = layout:match('^(%d+) (%d+) (%d+)(.*)$')
if version ~= ARGV[1] then
  return layout
end
local served = math.max(tonumber(partitions), tonumber(ARGV[2]))
layout = string.format('%s %s %d%s', version, partitions, served, ARGV[3] == '1' and '' or earlier)
redis.call('HSET', KEYS[1], 'layout', layout)
redis.pcall('SPUBLISH', channel, '')
return layout
