#!lua flags=allow-oom
-- files/settle: settle an assignment: the consumer has finished the file or gives it back.
--
-- KEYS[1]  HASH    meta       definition, epoch, state and totals of the feed
-- KEYS[2]  HASH    names      file -> number, state, bytes, digest
-- KEYS[3]  HASH    files      number -> state of the file
-- KEYS[4]  HASH    chunks     file:index -> chunk
-- KEYS[5]  HASH    positions  positions of groups in files; claims of sessions
-- KEYS[6]  ZSET    sessions   sessions, scored by the end of their leases (ms)
-- KEYS[7]  HASH    consumers  consumer -> its lease and counts
-- KEYS[8]  HASH    publishing  number -> name of a file that is being published
-- KEYS[9]  ZSET    waiting    channels of publishers, scored by when they stop waiting (ms)
-- KEYS[10] HASH    even       ledger of even hours
-- KEYS[11] HASH    odd        ledger of odd hours
-- ARGV[1]   string  writer      writer of the operation, for the ledger
-- ARGV[2]   int     count       number of the operation
-- ARGV[3]   string  epoch       epoch of the feed
-- ARGV[4]   string  session     session that holds the file
-- ARGV[5]   int     number      number of the file
-- ARGV[6]   int     token       token of the assignment
-- ARGV[7]   string  outcome     whole: finished. damaged: finished, the file is damaged.
--                               returned: given back without an error. failed: given back after an error
-- ARGV[8]   int     acked       acknowledged bytes
-- ARGV[9]   string  channel     channel of the feed's notifications
-- ARGV[10]  string  reason      why reading failed
-- returns  array   settled; file_taken; or a refusal (see parts/feed)
-- include clock
-- include ledger
-- include notify
-- include stored
-- include packed
-- include feed
-- include consumer_record
-- include lifecycle
-- include file
-- include positions
-- include lease
-- include budget
-- include retention
-- include attempts

local now_ms, now_s, now_us = clock()
local feed = {
  meta = KEYS[1], names = KEYS[2], files = KEYS[3], chunks = KEYS[4], positions = KEYS[5],
  sessions = KEYS[6], consumers = KEYS[7], publishing = KEYS[8], waiting = KEYS[9],
  now_ms = now_ms, now_us = now_us,
}
read_feed(feed)

local session, number, outcome = ARGV[4], tonumber(ARGV[5]), ARGV[7]
local acked, channel, reason = tonumber(ARGV[8]), ARGV[9], ARGV[10]

local ledger = ledger_at(KEYS[10], KEYS[11], now_s)
if ledger_answer(ledger, ARGV[1], ARGV[2]) then
  return {'settled'}
end
local refused = refusal(feed, '', ARGV[3])
if refused then
  return refused
end
local consumer = session:sub(14)
local group, file = group_of(feed, consumer), file_at(feed, number)
local position = file and group and position_of(feed, group, number)
if not position or not is_held_by(position, session, ARGV[6]) then
  return {'file_taken'}
end

local record = renew_consumer(feed, consumer)
if outcome == 'returned' or outcome == 'failed' then
  acked = math.min(acked, file.bytes)
  if acked > position.acked then
    position.tries, position.returns, position.acked, record.failing = 0, 0, acked, 0  -- as in read.lua
  end
  position.session = ''
  if outcome == 'failed' then
    count_attempt(feed, consumer, record, file, group, position, reason)
  else
    count_return(feed, record, position)
  end
  save_position(feed, group, number, position)
else
  record.bytes = record.bytes + settle_group(feed, number, file, group)
  record.files = record.files + 1
  record.damaged = record.damaged + (outcome == 'damaged' and 1 or 0)
  record.failing = 0
end
save_record(feed, consumer, record)
drop_chunks(feed, number, file, first_needed_chunk(feed, number, file, false))
save_file(feed, number, file)
save_feed(feed)
if feed.state == 'sealed' and feed.left == 0 then
  end_feed(feed, 'over')
else
  notify_one(feed.waiting, now_ms)
end
if outcome == 'returned' or outcome == 'failed' or feed.state == 'over' then
  -- Consumers may be waiting for this file, or for the end of the feed.
  redis.pcall('SPUBLISH', channel, '')
end
ledger_write(ledger, ARGV[1], ARGV[2], 'settled')
return {'settled'}
