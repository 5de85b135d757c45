#!lua
-- locks/rw_acquire: enter a reader-writer lock, or queue for it. A repeated call with the same id gets the
-- same permit.
--
-- KEYS[1]  HASH    state    limit, fence, phase, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    read_queue   `id channel` of the waiting readers, scored by their ticket
-- KEYS[4]  ZSET    write_queue  `id channel` of the waiting writers, scored by their ticket
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  id        id of this acquisition; it ends in `r` or `w` and a number
-- ARGV[2]  int     lease_ms  life of the lease without renewal (ms)
-- ARGV[3]  int     limit     how many writers may hold it: 1
-- ARGV[4]  string  channel   as in acquire.lua
-- ARGV[5]  string  ticket    as in acquire.lua
-- returns  array   as acquire.lua, without 'conflict' and 'undefined'
-- include clock
-- include stored
-- include state
-- include contention
-- include ledger
-- include hand_over
-- include holders
-- include enqueue
-- include phases
-- include hand_over_in_phases

local now_ms, now_s, now_us = clock()
local id, lease_ms, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, ticket = ARGV[4] or '', ARGV[5] or ''
local state, holders = KEYS[1], KEYS[2]
local mode = mode_of(id)
local _, last_fence = read_state(state)
local permits = {
  state = state, holders = holders, read_queue = KEYS[3], write_queue = KEYS[4],
  phase = read_phase(state),
  now_ms = now_ms, now_us = now_us, limit = limit, fence = last_fence, channel = channel,
}
local own_queue = mode == READ and permits.read_queue or permits.write_queue
local messages, lost = end_uncontended(permits), {}
local ledger = ledger_at(KEYS[5], KEYS[6], now_s)

-- Grants the permit. If the acquisition has it already, or was just granted it, this confirms the grant.
local function grant()
  redis.call('ZREM', holders, '?' .. id)
  raise_fence(permits)
  record_losses(ledger, lost, id)
  return {'granted', messages, hold(permits, id, lease_ms)}
end

if ledger_answer(ledger, id, '1') or ledger_answer(ledger, ended_entry(id), '1') == id then
  return {'ended', messages}
end
lost = take_back_expired(permits)
local held = redis.call('ZMSCORE', holders, id, '?' .. id)
if held[1] or held[2] then
  return grant()
end
local waiter = id .. ' ' .. channel
permits.wait_queue = own_queue
return_to_queue(permits, waiter, ticket)
local successor, successors = hand_over_in_phases(permits)
if successors[id] then
  return grant()
end
local mode_now = held_mode(permits)
local may_enter = not mode_now or mode == READ and mode_now == READ
if may_enter and redis.call('EXISTS', permits.read_queue, permits.write_queue) == 0 then
  set_phase(permits, mode == WRITE and WRITE or '0')
  return grant()
end
record_losses(ledger, lost, successor)
local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')
local holder, ends_ms = (first[1] or ''):gsub('^%?', ''), first[2] or '0'
if ticket == '' then
  return {'busy', messages, holder}
end
permits.wait_queue = own_queue
if ticket == '0' then
  -- A new reader must not enter in the present read phase, so its ticket must be higher than that of the
  -- last reader of the phase, even if the clock was set back.
  if mode == READ and tonumber(permits.phase) then
    permits.now_us = math.max(permits.now_us, permits.phase + 1)
  end
  ticket = enqueue(own_queue, waiter, permits.now_us)
end
redis.call('PEXPIRE', own_queue, KEPT_MS)
local now = string.format('%.0f', now_ms)
local left = tonumber(permits.phase) and redis.call('ZCOUNT', permits.read_queue, '-inf', permits.phase) or 0
-- The caller must call again now if there is no holder, or if this call could not admit all readers of the phase.
local is_open = not first[1] or left > 0 and mode == READ and mode_now ~= WRITE
return {'queued', messages, ticket, now, is_open and now or ends_ms, holder}
