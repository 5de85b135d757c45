-- Adds messages to a log. Needs the parts: log.

-- Adds a message, and drops all but the newest *most* messages; the stream may keep a few more. The message before the
-- floor stays in the log, so that the position of a reader that has read it can be checked. Call this function before
-- any other write, because it raises an error if the message cannot be added.
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
    if added.err:find('ACL failure') or added.err:find('user executing the script') then  -- the latter: Redis 7.0
      error(added)
    end
    error({err = 'DAMAGED ' .. log .. ' takes no message ' .. last})
  end
  if top == 1 then
    unit.day = nil  -- the log is new and has no expiry yet, even if other keys are older
  end
end

-- Saves the bounds after the last call of `append`.
local function save_last(unit)
  redis.call('HSET', unit.meta, 'top', unit.top, 'floor', unit.floor, 'last', unit.last)
end
