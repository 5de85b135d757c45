-- The limits of tasks by key (see per_key.py): the field of the envelope, and the definitions of limits (see
-- queues/keys.py). A *limited* task is one with a limit key.
--
-- The envelope has `"limit":"CONCURRENCY AMOUNT PER_MS FAIR NAME KEY"` as its last field, or before `unique` or
-- `group`:
--   CONCURRENCY    how many tasks of a key may run at once; 0: no limit
--   AMOUNT PER_MS  how many may start in any window of so many ms; 0: no limit
--   FAIR           1 if the keys take turns, otherwise 0
--   NAME KEY       the name of the limit, and the key within it
-- The first four are the definition of the limit, as the producer knows it. If another one is stored, that one counts.
--
-- *limits* is what all parts about limits share:
--   settings, limit_keys, admitted, limited, ready, due   the keys of the queue
--   tombstones   as `tombstones_in` returns it
--   now_ms
--   definitions  by name, and `by_slot`, the limit keys: what this script has read

local LIMIT_BYTES = 768  -- the field lies within so many bytes at the end

-- Parses the field of an envelope with its limit into a table; nil if the task is not limited.
local function limit_of(envelope)
  if envelope:byte(-2) ~= 34 then  -- most envelopes end with a number, not with a quote
    return nil
  end
  local tail = envelope:sub(-LIMIT_BYTES)
  if not tail:find(',"limit":"', 1, true) then
    return nil
  end
  local text = tail:match(',"limit":"([^"]*)"}$') or tail:match(',"limit":"([^"]*)","%l+":"[^"]*"}$')
  local definition, name, key = (text or ''):match('^(%d+ %d+ %d+ [01]) (%S+) (%S+)$')
  return definition and {definition = definition, name = name, key = key}
end

-- Returns a definition as a table. `one_ready` is whether only one task of a key and priority may be
-- ready at once: the keys take turns, or most tasks of a key would only be examined and put back.
local function parsed_definition(text)
  local concurrency, amount, per_ms, fair = (text or ''):match('^(%d+) (%d+) (%d+) ([01])$')
  amount = tonumber(amount) or 0
  return {
    concurrency = tonumber(concurrency) or 0, amount = amount, per_ms = tonumber(per_ms) or 0,
    fair = fair == '1', one_ready = fair == '1' or amount > 0,
  }
end

-- Returns the stored definition of the limit *name*; one without limits if there is none.
local function definition_of(limits, name)
  local found = limits.definitions[name]
  if not found then
    found = parsed_definition(redis.call('HGET', limits.settings, 'limit:' .. name))
    limits.definitions[name] = found
  end
  return found
end
