#!lua
-- rows/commit: store the results of loads, but only for rows that the caller has still leased.
--
-- KEYS[1]  ZSET    due       scheduled rows, scored by when they are due (ms)
-- KEYS[2]  HASH    plan      scheduled rows -> every_ms:read_ms
-- KEYS[3]  ZSET    loads     rows that are being loaded, scored by the token of the load
-- KEYS[4]  HASH    failures  row -> at_ms:failures:why; the field '' stands for the whole source
-- KEYS[5]  STRING  row       first of the rows: read_ms:fresh_ms:stale_ms:body
-- ARGV[1]  int     token     token of the load
-- ARGV[2]  int     read_ms   time that is stored as the time of the read
-- ARGV[3]  string  channel   channel of waiting readers
-- ARGV[4]  string  why       why the source is unavailable; '' if it is available
-- ARGV[5]  int     stale_ms  how long readers may get a row as stale
-- ARGV[6]  int     absent_ms  how long the absence of a row is fresh if the row is not scheduled
-- ARGV[7]  int     ttl_ms    how long a row is fresh if it is not scheduled
-- ARGV[8]  string  first of the rows: id, verb, body, time until the next load in thousandths of the period
--                  verb '=': body is the row
--                  verb '-': the source has no such row
--                  verb '!': loading failed, body is the reason
--                  verb '<': loading was not tried
--                  verb '~': the row is not scheduled any more
-- returns  array   a digit for each row, then ms until a row is due (-1: no row is scheduled)
--                  0 refused (the lease was lost), 1 stored, 2 unchanged, 3 accepted, but there was no row to store
-- include clock
-- include numbers
-- include failures
-- include store

local due, plan, loads, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, channel, why, now_ms = ARGV[1], ARGV[3], ARGV[4], clock()
local times = {
  now_ms = now_ms, read_ms = tonumber(ARGV[2]), stale_ms = tonumber(ARGV[5]),
  absent_ms = tonumber(ARGV[6]), ttl_ms = tonumber(ARGV[7]),
}
local FIRST = 8
local FIRST_ROW = 5
local LONGEST_MS = 2 ^ 40

-- Returns the period of a row; nil if the row has no valid period.
local function period_ms(planned)
  local every = stored_number((planned or ''):match('^(%d+):'))
  return every and every <= LONGEST_MS and every or nil
end

local written = {later = {}, seen = {}, stored = {}}
local had_failures = redis.call('EXISTS', failures) == 1 and failures
if why ~= '' then
  count_failure(failures, now_ms, '', why)
end
local ids, digits, ended = {}, {}, {}
for i = FIRST, #ARGV, 4 do
  ids[#ids + 1] = ARGV[i]
end
local scores = redis.call('ZMSCORE', loads, unpack(ids))
local planned = redis.call('HMGET', plan, unpack(ids))
for i = FIRST, #ARGV, 4 do
  local verb, body = ARGV[i + 1], ARGV[i + 2]
  local n = (i - FIRST) / 4 + 1
  local id, row, digit = ids[n], FIRST_ROW + n - 1, 0
  if tonumber(scores[n] or nil) == tonumber(token) then
    local every = period_ms(planned[n])
    local pause_ms = (every or 0) * ARGV[i + 3] / 1000
    ended[#ended + 1], digit = id, 3
    if verb == '=' or verb == '-' then
      digit = store(written, times, id, KEYS[row], verb .. body, every)
    elseif verb == '!' then
      pause_ms = math.min(pause_ms, RETRY_MS * 2 ^ math.min(count_failure(failures, now_ms, id, body), 6))
    elseif verb == '<' then
      pause_ms = 0
    elseif not every then
      redis.call('ZREM', due, id)
      redis.call('DEL', KEYS[row])
    end
    if every then
      local later = written.later
      later[#later + 1], later[#later + 2] = text(now_ms + math.ceil(pause_ms)), id
    end
  end
  digits[n] = digit
end
write_stored(written, due, plan, had_failures)
if #ended > 0 then
  redis.call('ZREM', loads, unpack(ended))
end
redis.pcall('SPUBLISH', channel, '')
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local wait = head[2] and text(math.max(0, math.min(tonumber(head[2]) - now_ms, LONGEST_MS))) or '-1'
return {table.concat(digits), wait}
