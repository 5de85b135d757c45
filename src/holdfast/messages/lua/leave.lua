#!lua flags=allow-oom
-- messages/leave: remove a member from a chat. The chat is deleted with its last member.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, keep, idle_ms, since, counted, first:USER
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   member -> when the member was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  user     user who leaves
-- returns  array   left, not_member, or last (the chat was deleted); then the current state, which is newer than a
--                  result from the ledger: 1 if the user is a member, otherwise 0; 1 if the chat exists, otherwise 0
-- include clock
-- include ledger
-- include stored
-- include log
-- include last_seen
-- include retention

local meta, log, cursors, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local user = ARGV[3]
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
read_retention(unit)

local function reply(answer)
  local is_member = redis.call('ZSCORE', cursors, user) and 1 or 0
  return {answer, is_member, redis.call('EXISTS', meta)}
end

local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[%l_]+$')
if answer then
  return reply(answer)
end
local cursor = cursor_of(unit, user)
answer = cursor and 'left' or 'not_member'
if cursor then
  redis.call('ZREM', cursors, user)
  redis.call('HDEL', active, user)
  redis.call('HDEL', meta, 'first:' .. user)
  if redis.call('ZCARD', cursors) == 0 then
    redis.call('UNLINK', meta, log, cursors, active)
    answer = 'last'
  else
    retain(unit, cursor)
    save_bounds(unit)
  end
end
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return reply(answer)
