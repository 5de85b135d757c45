#!lua flags=no-writes
-- messages/mailbox_status: return the state of a mailbox.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, capacity, overflow, dropped
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  the owner, scored by the number up to which it has acknowledged
-- KEYS[4]  HASH    active   the owner -> when it was last active (s since epoch)
-- ARGV[1]  string  owner    owner of the mailbox
-- returns  array   number of unread messages, when the oldest of them was sent (ms; '': none), when the owner was last
--                  active (ms; '': never), cursor, dropped, capacity, overflow
-- include stored
-- include definition
-- include capacity
-- include entries
-- include last_seen

local meta, log, owner = KEYS[1], KEYS[2], ARGV[1]
local limits = read_capacity(meta)
local known = redis.call('HMGET', meta, 'top', 'floor', 'epoch')
local top = whole(known[1] or '0', 0, EXACT, 'field top', meta)
local floor = whole(known[2] or '1', 1, top + 1, 'field floor', meta)
local cursor = redis.call('ZSCORE', KEYS[3], owner) or '0'
local read = math.max(whole(cursor, 0, top, 'a score', KEYS[3]), floor - 1)
if known[3] then
  whole(known[3], 1, EXACT, 'field epoch', meta)
end
local first
if read < top then
  first = redis.call('XRANGE', log, string.format('%.0f', read + 1), '+', 'COUNT', 1)[1]
end
return {
  string.format('%.0f', math.max(0, top - read)), first and sent_ms(first) or '',
  last_seen_ms(redis.call('HGET', KEYS[4], owner), known[3]), cursor,
  string.format('%.0f', limits.dropped), limits.capacity, limits.overflow,
}
