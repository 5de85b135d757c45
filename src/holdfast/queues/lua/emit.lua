#!lua
-- queues/emit: add events to running tasks. A call with the same number again adds nothing.
--
-- KEYS[1]  HASH    state     id -> token:attempts:...
-- KEYS[2]  ZSET    leases    running ids, scored by when the lease ends (ms)
-- KEYS[3]  HASH    progress  id -> number:bytes:progress
-- KEYS[4]  HASH    even      ledger of even hours
-- KEYS[5]  HASH    odd       ledger of odd hours
-- KEYS[6]  LIST    events    the first of them: one for each task
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  first of the tasks, five arguments each:
--                  id, token, dropped (events that the worker has dropped before these), progress (the latest
--                  one, as JSON; '' if there is none), events (a MessagePack array of texts: a letter and JSON)
-- returns  string  one digit per task: 1 added; 0 refused, because the claim with this token has ended
-- include clock
-- include ledger
-- include stored
-- include progress
-- include append_events

local state, leases, progress = KEYS[1], KEYS[2], KEYS[3]
local FIRST = 3
local FIRST_EVENTS = 6
local TASK = 5  -- arguments of each task
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[01]+$')
if answer then
  return answer
end

local ids = {}
for i = FIRST, #ARGV, TASK do
  ids[#ids + 1] = ARGV[i]
end

-- Returns the attempt of the claim *token* in the *record* of a task with a lease; nil if the claim has ended.
local function attempt_of(record, is_leased, token)
  local held, attempt = (record or ''):match('^(%d+):(%d+):')
  return held == token and is_leased and attempt
end

-- Reads everything before the first write: a key of another type must not stop the script half-way.
local digits, attempts, known, added = {}, {}, {}, {}
local function read_all(keys, first_events)
  local records = redis.call('HMGET', state, unpack(ids))
  local scores = redis.call('ZMSCORE', leases, unpack(ids))
  local entries = redis.call('HMGET', progress, unpack(ids))
  for n, id in ipairs(ids) do
    local i = FIRST + TASK * (n - 1)
    attempts[n] = attempt_of(records[n], scores[n], ARGV[i + 1])
    digits[n] = attempts[n] and '1' or '0'
    known[n] = known_events(progress, id, entries[n], keys[first_events + n - 1])
    added[n] = cmsgpack.unpack(ARGV[i + 4])
  end
end

local function append_all(keys, first_events)
  local fields = {}
  for n, id in ipairs(ids) do
    local i = FIRST + TASK * (n - 1)
    if attempts[n] then
      fields[#fields + 1] = id
      fields[#fields + 1] = append_events(keys[first_events + n - 1], known[n], attempts[n], now_ms,
        tonumber(ARGV[i + 2]), ARGV[i + 3], added[n])
      notify_followers(progress, id)
    end
  end
  if #fields > 0 then
    redis.call('HSET', progress, unpack(fields))
  end
end

read_all(KEYS, FIRST_EVENTS)
append_all(KEYS, FIRST_EVENTS)
answer = table.concat(digits)
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
