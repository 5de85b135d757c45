#!lua
-- counters/add: add a count in all precisions, or in none.
--
-- KEYS[1]  STRING  definition  `precisions keep`, see counters/keys.py
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- KEYS[4]  HASH    chunk   the first of the chunks: the even and the odd one of each precision, ascending
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  string  count    what is added, an integer
-- ARGV[4]  string  at       when the counted event happened (ms); '': now
-- ARGV[5]  string  assumed  the definition that the caller assumes
-- ARGV[6]  string  replaced  the definition that the assumed one replaces; '': none
-- ARGV[7]  int     keep     samples kept of each precision
-- ARGV[8]  int     first of the precisions (s)
-- returns  string  '': counted
--                  'new': counted, and the counter had no samples before
--                  'redefined DEFINITION': nothing was counted, the stored definition is another one
--                  'ahead MS': nothing was counted, the time is MS ahead of the server's clock
--                  'late': nothing was counted, no precision keeps samples of that time
--                  'overflow': nothing was counted, a sample would not fit into 64 bits
-- include clock
-- include ledger

local now_ms, now_s = clock()
local AHEAD_MS = 60000  -- A time up to so far ahead counts as now: the client's clock may be fast.
local FIRST_KEY = 4
local FIRST = 8
local count, keep = ARGV[3], tonumber(ARGV[7])

local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^n?e?w?$')
if answer then
  return answer
end
local stored = redis.call('GET', KEYS[1])
if stored and stored ~= ARGV[5] and stored ~= ARGV[6] then
  return 'redefined ' .. stored
end
local at_ms = ARGV[4] == '' and now_ms or tonumber(ARGV[4])
if at_ms > now_ms + AHEAD_MS then
  return 'ahead ' .. string.format('%.0f', at_ms - now_ms)
end
local at_s = math.floor(math.min(at_ms, now_ms) / 1000)

local call, pcall = redis.call, redis.pcall
local amount = tonumber(count)
local counted = {}  -- key, bucket, key, bucket, …: where the count was added
local longest_s  -- seconds for which the coarsest precision keeps samples

local function undo()
  local negated = count:sub(1, 1) == '-' and count:sub(2) or '-' .. count
  for i = 1, #counted, 2 do
    if call('HINCRBY', counted[i], counted[i + 1], negated) == 0 then
      call('HDEL', counted[i], counted[i + 1])
    end
  end
end

-- Returns whether the error of HINCRBY means that the sum or the count does not fit into 64 bits.
local function is_overflow(err)
  return err:find('would overflow', 1, true) or err:find('out of range', 1, true)
end

-- Add to the coarsest precision first: it keeps samples longest, and its lifetime is that of the
-- definition.
for i = #ARGV, FIRST, -1 do
  local precision = tonumber(ARGV[i])
  longest_s = longest_s or 2 * keep * precision
  local bucket = (at_s - at_s % precision) / precision
  local chunk = (bucket - bucket % keep) / keep
  if chunk + 2 > now_s / precision / keep then  -- the current chunk, or the previous one
    local n = FIRST_KEY + 2 * (i - FIRST) + chunk % 2
    local key = KEYS[n]
    local value = pcall('HINCRBY', key, bucket, count)
    if type(value) == 'table' then
      undo()
      return is_overflow(value.err) and 'overflow' or value
    end
    counted[#counted + 1] = key
    counted[#counted + 1] = bucket
    if value == amount then  -- The bucket may be new, and the chunk as well: set its lifetime.
      call('EXPIREAT', key, (chunk + 2) * keep * precision)
      if i == #ARGV then  -- The definition lives as long as the current chunk, which may have later samples.
        local current = math.floor(now_s / precision / keep)
        call('SET', KEYS[1], ARGV[5], 'EXAT', (current + 2) * keep * precision)
      end
    end
  end
end
if #counted == 0 then
  return 'late'
end
if stored and stored ~= ARGV[5] then  -- The stored definition is ARGV[6], which is replaced.
  call('SET', KEYS[1], ARGV[5], 'EX', string.format('%.0f', longest_s))
end
answer = stored and '' or 'new'
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
