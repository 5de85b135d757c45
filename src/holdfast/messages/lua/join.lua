#!lua
-- messages/join: make a user a member of a chat. For a user who is a member already, nothing changes.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, keep, history, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   member -> when the member was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  user     user who joins
-- ARGV[4]  string  start    now, floor, or the number of the first message for the user
-- ARGV[5]  int     most     maximum number of members
-- ARGV[6]  string  by       member who adds the user; '': do not check this
-- returns  array   joined
--                  member: the user was a member before
--                  missing: there is no such chat
--                  not_member: `by` is not a member; then joined or member, the result without this check
--                  full, number of members
--                  beyond, top: *start* is after the next message
-- include clock
-- include ledger
-- include stored
-- include log

local meta, cursors = KEYS[1], KEYS[3]
local user, start, most, by = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
local top = unit.top

local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%l+$')
if answer then
  return {answer}
elseif not unit.epoch then
  return {'missing'}
end
answer = redis.call('ZSCORE', cursors, user) and 'member' or 'joined'
if by ~= '' and not redis.call('ZSCORE', cursors, by) then
  return {'not_member', answer}
elseif answer == 'joined' then
  local members = redis.call('ZCARD', cursors)
  if members >= most then
    return {'full', members}
  end
  local cursor = start == 'now' and top or start == 'floor' and unit.floor - 1 or tonumber(start) - 1
  if cursor > top then
    return {'beyond', text(top)}
  end
  redis.call('ZADD', cursors, text(cursor), user)
  if cursor > 0 and redis.call('HGET', meta, 'history') ~= 'open' then
    redis.call('HSET', meta, 'first:' .. user, text(cursor + 1))
  end
  if unit.kept == 'until_read' then
    note_active(unit, user)
  end
  extend_expiry(unit)
end
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return {answer}
