-- How a log grows. Expects: meta, log, now_ms, known, epoch, top, floor, last, text.

-- Adds a message, after which *most* are kept. Of those below, the blocks of the stream go at once,
-- single messages with their block; the last one of them stays: a reader may have come that far.
-- The trace in which it was sent is a second field: readers that do not know it see only the first.
-- Call it before any other write: what cannot be added stops the script.
local function append(sender, body, trace, most)
  top = top + 1
  floor = math.max(floor, top - most + 1)
  last = string.format('%.0f-%.0f', top, now_ms)
  local added
  if trace == '' then
    added = redis.pcall('XADD', log, 'MINID', '~', floor - 1, last, sender, body)
  else
    added = redis.pcall('XADD', log, 'MINID', '~', floor - 1, last, sender, body, 'trace', trace)
  end
  if type(added) == 'table' then
    error({err = 'DAMAGED ' .. log .. ' takes no message ' .. last})
  end
  if top == 1 then
    known[4] = nil  -- the log itself is new, though the rest may be older
  end
end

-- Call it after the last message.
local function remember_last()
  redis.call('HSET', meta, 'top', top, 'floor', floor, 'last', last)
end
