-- Builds the header of the reply for a log, see fetch.lua.

-- Returns a stored field for a header; '?' for a value that would break the header (another program wrote it).
local function plain(stored)
  return stored:find('^[%w.+-]+$') and stored or '?'
end

-- Returns the header.
local function header_of(known, cursor, since, top_ms, valid)
  local epoch, top, floor = known[1] or '', known[2] or '0', known[3] or '1'
  if (epoch .. top .. floor .. cursor):find('%D') or top == '' or floor == '' or epoch == '' and known[1] then
    epoch, top, floor = known[1] and plain(epoch) or '', plain(top), plain(floor)
  end
  return table.concat({epoch, top, floor, cursor, since, top_ms or '', valid}, ' ')
end
