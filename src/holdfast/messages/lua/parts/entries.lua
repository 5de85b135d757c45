-- Converts entries of a log to the form in which a reply has them.

local LARGEST_SENDER, LARGEST_BODY = 512, 1048577  -- maximum bytes in messages that `send` accepts
local LARGEST_TRACE = 568

-- Returns when an entry was sent (ms); 0 if another program wrote an invalid time.
local function sent_ms(entry)
  local ms = entry[1]:match('%d+$')
  return #ms < 15 and ms or '0'
end

-- Adds a page of entries to the list *parts* after its value number *last*: id, sender and body of each. Returns the
-- number of the last value, and the bytes of the entries. A flat list takes half the time of nested tables to build, send
-- and parse. If there is a trace context, it follows the id after a blank. A body that is too large (another program
-- wrote it) is replaced by its size, so that no reader is blocked.
local function add_flat(parts, last, page)
  local bytes = 0
  for i = 1, #page do
    local entry = page[i]
    local fields = entry[2]
    local name, sender, body, trace = entry[1], fields[1], fields[2], fields[4]
    local size = #sender + #body
    if #sender > LARGEST_SENDER or #body > LARGEST_BODY then
      sender, body = sender:sub(1, LARGEST_SENDER), string.format('x%d', size)
      size = #sender + #body
    end
    if trace and #trace <= LARGEST_TRACE then
      name = name .. ' ' .. trace
    end
    parts[last + 1], parts[last + 2], parts[last + 3] = name, sender, body
    last, bytes = last + 3, bytes + size
  end
  return last, bytes
end

-- Returns a page of entries as a new flat list, and their size in bytes.
local function flat(page)
  local parts = {}
  local _, bytes = add_flat(parts, 0, page)
  return parts, bytes
end

-- Returns the id from the first value of an entry in such a list.
local function id_of(part)
  return part:match('^%S+')
end
