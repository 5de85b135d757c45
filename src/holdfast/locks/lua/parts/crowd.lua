-- Where others are, or come. Who was alone there stands among the holders from now on.
-- Expects: places, whole, damaged, state, holders, now_ms.

local AT_ONCE = 64      -- places taken back or handed over in one call
local DOUBT_MS = 60000  -- how long silent heirs are remembered

local more = redis.call('HMGET', state, 'ends', 'doubts', 'doubted')
local doubted_ms = whole(more[3], 0, 2 ^ 53, state, 'doubted') or 0
local doubts = now_ms - doubted_ms < DOUBT_MS and whole(more[2], 0, 2 ^ 53, state, 'doubts') or 0
if sole and sole ~= '' and not whole(more[1], 0, 2 ^ 53, state, 'ends') then
  damaged(state, 'ends')
end
if sole then
  redis.call('HDEL', state, 'sole', 'ends')
end
if sole and sole ~= '' then
  redis.call('ZADD', holders, more[1], sole)
  redis.call('PEXPIRE', holders, KEPT_MS)
end
