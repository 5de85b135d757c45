#!lua
-- queues/repartition: change the layout of a queue: how many partitions it has. The partitions learn of it later.
--
-- KEYS[1]  HASH    settings  layout, capacity and limit of this partition, whole:capacity, whole:limit
-- KEYS[2]  HASH    even      ledger of even hours
-- KEYS[3]  HASH    odd       ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  partitions  that take tasks; '': unchanged
-- ARGV[4]  int     served      how many partitions workers must serve at least
-- ARGV[5]  string  capacity    of the whole queue, 0: no limit; '': unchanged
-- ARGV[6]  string  limit       of the whole queue: concurrency, amount and window (ms); '': unchanged
-- ARGV[7]  string  channel     notified, so that processes read the layout again
-- ARGV[8]  int     renew       1 to give the layout a new version in any case
-- returns  string  the layout; 'often' if there are too many earlier ones, and nothing has changed
-- include clock
-- include ledger

local MAX_EARLIER = 8
local settings, partitions, channel = KEYS[1], tonumber(ARGV[3]), ARGV[7]
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2])
if answer then
  return answer
end

local stored = redis.call('HGET', settings, 'layout')
local version, count, served, earlier = (stored or '0 1 1'):match('^(%d+) (%d+) (%d+)(.*)$')
version, count = tonumber(version), tonumber(count)
local first_version, first_served = version, tonumber(served)
if partitions and (partitions ~= count or ARGV[8] == '1') then
  local _, known = earlier:gsub(' ', '')
  if known >= MAX_EARLIER then
    return 'often'
  end
  earlier = string.format('%s %.0f:%d:%.0f', earlier, version, count, now_ms)
  version, count = math.max(now_ms, version + 1), partitions
end
served = math.max(tonumber(served), count, tonumber(ARGV[4]))

-- Store the setting of this partition as that of the whole queue.
local function keep_for_whole(name)
  local value = redis.call('HGET', settings, name)
  if value then
    redis.call('HSET', settings, 'whole:' .. name, value)
  else
    redis.call('HDEL', settings, 'whole:' .. name)
  end
end

-- Until the first change, the settings of the queue are those of the whole. Its limit is a share of the whole as
-- soon as other partitions are served.
if first_version == 0 then
  keep_for_whole('capacity')
  if first_served == 1 then
    keep_for_whole('limit')
  end
end
if ARGV[5] ~= '' then
  redis.call('HSET', settings, 'whole:capacity', ARGV[5])
end
if ARGV[6] ~= '' then
  redis.call('HSET', settings, 'whole:limit', ARGV[6])
end
local layout = string.format('%.0f %d %d%s', version, count, served, earlier)
redis.call('HSET', settings, 'layout', layout)
redis.pcall('SPUBLISH', channel, '')  -- without the permission to publish, processes read the layout later
ledger_write(ledger, ARGV[1], ARGV[2], layout)
return layout
