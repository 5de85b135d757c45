-- How a log grows. Expects: log.

-- Adds a message, after which *most* are kept. Of those below, the blocks of the stream go at once,
-- single messages with their block; the last one of them stays: a reader may have come that far.
-- The trace in which it was sent is a second field: readers that do not know it see only the first.
-- Call it before any other write: what cannot be added stops the script.
local function append(unit, sender, body, trace, most)
  local log, top = unit.log, unit.top + 1
  local last = string.format('%.0f-%.0f', top, unit.now_ms)
  unit.top, unit.last = top, last
  unit.floor = math.max(unit.floor, top - most + 1)
  local added
  if trace == '' then
    added = redis.pcall('XADD', log, 'MINID', '~', unit.floor - 1, last, sender, body)
  else
    added = redis.pcall('XADD', log, 'MINID', '~', unit.floor - 1, last, sender, body, 'trace', trace)
  end
  if type(added) == 'table' then
    error({err = 'DAMAGED ' .. log .. ' takes no message ' .. last})
  end
  if top == 1 then
    unit.day = nil  -- the log itself is new, though the rest may be older
  end
end

-- Call it after the last message.
local function remember_last(unit)
  redis.call('HSET', unit.meta, 'top', unit.top, 'floor', unit.floor, 'last', unit.last)
end
