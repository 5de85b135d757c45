-- What is known of the places of a unit.
-- Expects: state, now_ms, now_us.

local KEPT_MS = 7 * 86400 * 1000  -- what nobody uses is forgotten after a week
local HOUR_US = 3600000000
local AT_ONCE = 64                -- places taken back or handed over in one call
local DOUBT_MS = 60000            -- how long silent heirs are remembered

local known = redis.call('HMGET', state, 'limit', 'fence', 'doubts', 'doubted')
local limit, fence = tonumber(known[1]), tonumber(known[2]) or 0
local doubts = now_ms - (tonumber(known[4]) or 0) < DOUBT_MS and tonumber(known[3]) or 0

-- Rises as long as the stored fence or the server's clock is there.
local function next_fence()
  fence = math.max(fence + 1, now_us)
  return string.format('%.0f', fence)
end

local function remember()
  redis.call('HSET', state, 'fence', string.format('%.0f', fence), 'limit', limit)
  if math.floor(fence / HOUR_US) ~= math.floor((tonumber(known[2]) or 0) / HOUR_US) then
    redis.call('PEXPIRE', state, KEPT_MS)  -- once an hour will do
  end
end
