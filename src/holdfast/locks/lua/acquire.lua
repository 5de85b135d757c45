#!lua
-- locks/acquire: take a place, or stand in line for one; the same id again gets the same again.
--
-- KEYS[1]  HASH    state    limit, fence, sole, ends, doubts, doubted
-- KEYS[2]  ZSET    holders  ids, scored by when their place ends (ms); `?id` has not answered yet
-- KEYS[3]  ZSET    line     `id channel` of those who wait, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id        of this acquisition
-- ARGV[2]  int     lease_ms  life of the place without renewal
-- ARGV[3]  string  given     the limit that the caller says it has; '' it does not say
-- ARGV[4]  string  channel   where the caller's process is rung; '' nowhere. May be left out
-- ARGV[5]  string  ticket    its place in line; '0' none yet, '' it does not wait. May be left out
-- returns  array   verdict, words for waiters of the caller's process, then for each verdict:
--                  granted: fence; queued: ticket, now_ms, when to ask again (ms), id of a holder;
--                  busy: id of a holder; conflict: the limit; undefined; over.
--                  Or a string, the fence: granted, and nobody else is there
-- include clock

local state, holders, line = KEYS[1], KEYS[2], KEYS[3]
local id, lease_ms, given = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, ticket = ARGV[4] or '', ARGV[5] or ''
-- include sound
-- include places

if limit and given and limit ~= given then
  return {'conflict', {}, limit}
end
limit = limit or given
if not limit then
  return {'undefined', {}}
end
if sole == '' or not sole and redis.call('EXISTS', holders, line, KEYS[4], KEYS[5]) == 0 then
  next_fence()  -- nobody is here: the usual case
  return remember('sole', id, 'ends', now_ms + lease_ms)
end
-- include crowd
-- include ledger
-- include over
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
-- include hand_over
-- include ended

local function grant()
  redis.call('ZADD', holders, now_ms + lease_ms, id)
  redis.call('PEXPIRE', holders, KEPT_MS)
  return {'granted', told, remember()}
end

-- Its place under the fence that it has. Of several holders only the latest fence is known.
local function grant_again()
  redis.call('ZREM', holders, '?' .. id)
  if limit > 1 or fence == 0 then
    next_fence()
  end
  record_losses(id)
  return grant()
end

if ledger_answer(ledger, id, '1') or ledger_answer(ledger, over_entry(id), '1') == id then
  return {'over', told}
end
take_back()
local held = redis.call('ZMSCORE', holders, id, '?' .. id)
if held[1] or held[2] then
  return grant_again()
end
local waiter = id .. ' ' .. channel
if (tonumber(ticket) or 0) > 0 and redis.call('ZADD', line, 'NX', ticket, waiter) == 1 then
  doubts = math.max(0, doubts - 2)  -- passed over, and back: far away, so let its next claim be longer
  redis.call('HSET', state, 'doubts', doubts)
end
hand_over()
if handed[id] then
  return grant_again()
end
local free = redis.call('ZCARD', holders) < limit
if free and redis.call('ZCARD', line) == 0 then
  next_fence()
  record_losses(id)
  return grant()
end
record_losses(heir)
local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')
local holder, ends = (first[1] or ''):gsub('^%?', ''), first[2] or '0'
if ticket == '' then
  return {'busy', told, holder}
end
if ticket == '0' then
  local last = redis.call('ZRANGE', line, 0, 0, 'REV', 'WITHSCORES')
  ticket = string.format('%.0f', math.max((tonumber(last[2]) or 0) + 1, now_us))
  if redis.call('ZADD', line, 'NX', ticket, waiter) == 0 then
    ticket = redis.call('ZSCORE', line, waiter)
  end
end
redis.call('PEXPIRE', line, KEPT_MS)
local now = string.format('%.0f', now_ms)
return {'queued', told, ticket, now, free and now or ends, holder}  -- free: there were too many
