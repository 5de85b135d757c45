-- Entries of a log, as they are stored and as a reply has them.

local LARGEST_SENDER, LARGEST_BODY = 512, 1048577  -- what `send` lets in
local LARGEST_TRACE = 568

-- When an entry was sent (ms).
local function sent_ms(entry)
  local ms = entry[1]:match('%d+$')
  return #ms < 15 and ms or '0'  -- another program may have written anything
end

-- A page of them in one list, three each: id, sender, body; and the bytes that these take. The trace
-- of a message, if it has one, comes behind its id and a blank. A reply
-- of few tables is made, sent and read in half the time. What is too large for any reply, as
-- another program may have written it, is told by its size, or it would block the reader.
local function flat(page)
  local parts, bytes, n = {}, 0, 0
  for _, entry in ipairs(page) do
    local said = entry[2]
    local name, sender, body, trace = entry[1], said[1], said[2], said[4]
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
