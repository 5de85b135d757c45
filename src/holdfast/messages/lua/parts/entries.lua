-- Converts entries of a log to the form in which a reply has them.

local LARGEST_SENDER, LARGEST_BODY = 512, 1048577  -- maximum bytes in messages that `send` accepts
local LARGEST_TRACE = 568

-- Returns when an entry was sent (ms); 0 if another program wrote an invalid time.
local function sent_ms(entry)
  local ms = entry[1]:match('%d+$')
  return #ms < 15 and ms or '0'
end

-- Returns a page of entries as one flat list (id, sender and body of each), and its size in bytes. A flat list takes
-- half the time of nested tables to build, send and parse. If there is a trace context, it follows the id after a
-- blank. A body that is too large (another program wrote it) is replaced by its size, so that no reader is blocked.
local function flat(page)
  local parts, bytes, n = {}, 0, 0
  for _, entry in ipairs(page) do
    local fields = entry[2]
    local name, sender, body, trace = entry[1], fields[1], fields[2], fields[4]
    if #sender > LARGEST_SENDER or #body > LARGEST_BODY then
      sender, body = sender:sub(1, LARGEST_SENDER), string.format('x%d', #sender + #body)
    end
    if trace and #trace <= LARGEST_TRACE then
      name = name .. ' ' .. trace
    end
    parts[n + 1], parts[n + 2], parts[n + 3] = name, sender, body
    bytes = bytes + #sender + #body
    n = n + 3
  end
  return parts, bytes
end

-- Returns the id from the first value of an entry in such a list.
local function id_of(part)
  return part:match('^%S+')
end
