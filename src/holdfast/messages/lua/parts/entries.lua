-- Entries of a log, as stored and as sent in a reply.

local LARGEST_SENDER, LARGEST_BODY = 512, 1048577  -- the limits of `send`
local LARGEST_TRACE = 568

-- When an entry was sent (ms).
local function sent_ms(entry)
  local ms = entry[1]:match('%d+$')
  return #ms < 15 and ms or '0'  -- another program may have written anything
end

-- Returns a page of entries as one flat list (id, sender and body of each) and its size in bytes. A
-- reply with few tables takes half the time to build, send and parse. The id is followed by a blank
-- and the trace context, if there is one. A body that is too large, which another program may have
-- written, is replaced by its size, because it would block the reader.
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

-- The id of an entry in such a list.
local function id_of(part)
  return part:match('^%S+')
end
