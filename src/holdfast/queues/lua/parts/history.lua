-- The history of a queue: a record of each task that ended last (see queues/keys.py).
-- Needs the parts: last_number.

local HISTORY_LIMIT = 1000    -- number of tasks, unless the settings of the queue have another one
local HISTORY_MS = 604800000  -- the history expires a week after the last task
local HISTORY_SLACK = 1.1     -- it is trimmed when it is a tenth longer than its limit

-- Returns how many tasks the history keeps. *setting* is the field `history` of the queue's settings.
local function history_limit(setting)
  return tonumber(setting or nil) or HISTORY_LIMIT
end

-- Adds a record to `queue.records`: the task *id* is `done`, `dead` or `cancelled`. *facts* are its duration and its name.
-- *queue* has `keys.history`, `history_limit`, `now_ms`, and `records`, which `write_history` writes.
local function add_to_history(queue, id, state, attempts, crashes, facts, worker, reason)
  if queue.history_limit > 0 then
    local records = queue.records
    queue.number = (queue.number or last_number(queue.keys.history)) + 1
    records[#records + 1] = queue.number .. ':' .. queue.now_ms .. ':' .. state .. ':' .. attempts .. ':'
      .. crashes .. ':' .. #id .. ':' .. id .. facts .. worker .. ' ' .. reason
  end
end

-- Writes `queue.records`. If *extend*, also sets the lifetime again, for which once a minute is enough.
local function write_history(queue, extend)
  if #queue.records == 0 then
    return
  end
  local length = redis.pcall('RPUSH', queue.keys.history, unpack(queue.records))
  if type(length) == 'number' then
    if extend or length == #queue.records then
      redis.call('PEXPIRE', queue.keys.history, HISTORY_MS)
    end
    if length > queue.history_limit * HISTORY_SLACK then
      redis.call('LTRIM', queue.keys.history, -queue.history_limit, -1)
    end
  end
end
