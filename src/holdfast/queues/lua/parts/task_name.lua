-- Finds the name of a task in its envelope. The history needs the name when no worker reports the end.

local DECODED_BYTES = 4096  -- a larger envelope is not decoded, so its name may stay unknown
local NAME_BYTES = 200

-- Returns the facts of the task with this envelope (see parts/history): no duration, and its name.
local function facts_of(body)
  -- An envelope of Holdfast begins like this. Other programs may put other fields before it.
  local name = body:match('^{"v":%d+,"task":"([^"\\]*)"')
  if not name and #body <= DECODED_BYTES then
    local readable, envelope = pcall(cjson.decode, body)
    name = readable and type(envelope) == 'table' and envelope.task
  end
  name = type(name) == 'string' and name:sub(1, NAME_BYTES) or ''
  return ':' .. #name .. ':' .. name
end
