-- Where others are, or come. Who was alone there stands among the holders from now on.
-- Expects: places, state, holders, now_ms.

local AT_ONCE = 64      -- places taken back or handed over in one call
local DOUBT_MS = 60000  -- how long silent heirs are remembered

local more = redis.call('HMGET', state, 'ends', 'doubts', 'doubted')
local doubts = now_ms - (tonumber(more[3]) or 0) < DOUBT_MS and tonumber(more[2]) or 0
if sole then
  redis.call('HDEL', state, 'sole', 'ends')
end
if sole and sole ~= '' then
  redis.call('ZADD', holders, more[1], sole)
  redis.call('PEXPIRE', holders, KEPT_MS)
end
