#!lua
-- messages/deliver: put a message into a mailbox. The first message creates the mailbox.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, last, capacity, overflow, dropped
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  the owner, scored by the number up to which it has acknowledged
-- KEYS[4]  HASH    active   the owner -> when it was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- KEYS[7]  HASH    senders  sender -> its unread messages that were sent with per_sender
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  channel  channel of the mailbox
-- ARGV[4]  string  owner    owner of the mailbox
-- ARGV[5]  string  sender   sender of the message
-- ARGV[6]  string  body     body of the message
-- ARGV[7]  string  capacity  capacity that the sender gives; then, unless a different stored one is to be kept, a blank
--                  and on_conflict (error or update); '': none given
-- ARGV[8]  string  overflow  overflow that the sender gives, in the same form
-- ARGV[9]  string  per_sender  maximum number of unread messages of the sender; '': no limit
-- ARGV[10] string  trace    trace context in which the message is sent; absent if there is none
-- returns  array   if the message was stored: a string, its number; or, if the stored settings differ from the given
--                  ones: kept, number, capacity, overflow
--                  if it was not stored:
--                  full, capacity, when the oldest unread message was sent (ms; '': unknown)
--                  sender_full, maximum number of unread messages of the sender
--                  conflict, capacity, overflow; at least one differs from the given one, and is the stored one
-- include clock
-- include ledger
-- include stored
-- include log
-- include append
-- include definition
-- include capacity
-- include entries
-- include senders

local meta, log, cursors, senders = KEYS[1], KEYS[2], KEYS[3], KEYS[7]
local channel, owner, sender, body, per_sender = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[9])

local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
local limits = read_capacity(meta)
local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return answer
end
local given = {capacity = ARGV[7], overflow = ARGV[8]}
local changed, verdict = apply_settings(limits, given)
if verdict == 'conflict' then
  return {'conflict', limits.capacity, limits.overflow}
end
local epoch, top, capacity = unit.epoch, unit.top, limits.capacity
local cursor = epoch and cursor_of(unit, owner) or 0
local read, groups = math.max(cursor, unit.floor - 1), nil
if per_sender then
  local count
  per_sender = math.min(per_sender, math.max(1, math.floor(capacity / 2)))
  groups, count = unread_of(epoch and redis.call('HGET', senders, sender), read, top)
  if count >= per_sender then
    return {'sender_full', text(per_sender)}
  end
end
if epoch and limits.overflow == 'reject' and top - read >= capacity then
  local first = redis.call('XRANGE', log, text(read + 1), '+', 'COUNT', 1)
  return {'full', capacity, first[1] and sent_ms(first[1]) or ''}
end
if not epoch then
  begin(unit)
  redis.call('UNLINK', senders)
end
append(unit, sender, body, ARGV[10] or '', capacity)
local floor = unit.floor
redis.call('ZADD', cursors, 'NX', 0, owner)
for i = 1, #changed, 2 do
  redis.call('HSET', meta, changed[i], changed[i + 1])
end
if floor > read + 1 then
  redis.call('HSET', meta, 'dropped', text(limits.dropped + floor - read - 1))
end
save_last(unit)
extend_expiry(unit)
local number = text(unit.top)
ledger_write(ledger, ARGV[1], ARGV[2], number)
if groups and redis.call('HSET', senders, sender, count_one(groups, number, per_sender)) == 1 then
  redis.call('EXPIRE', senders, KEPT_S)
  forget_some(senders, read, unit.top)
end
redis.pcall('SPUBLISH', channel, number)
return verdict == 'kept' and {'kept', number, limits.capacity, limits.overflow} or number
