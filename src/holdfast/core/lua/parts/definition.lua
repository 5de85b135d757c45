-- Options that the server stores for all clients, such as a capacity.

-- Compares the *stored* value (false: none) with the value that a client gives.
-- *given* is the client's value ('': none). After a space, `error` or `update` may follow: what to do if another
-- value is stored. Without it, the stored value is kept.
-- Returns the value in effect as text (nil: none), and a verdict:
--   'store'      the value in effect must be stored
--   'kept'       another value is stored, and is in effect
--   'conflict'   another value is stored, and the client wants an error
--   nil          the values agree, or the client gives none
local function define(stored, given)
  local value, on_conflict = given:match('^(%S*) ?(%a*)$')
  if value == '' or stored == value then
    return stored or nil
  elseif not stored or on_conflict == 'update' then
    return value, 'store'
  end
  return stored, on_conflict == 'error' and 'conflict' or 'kept'
end
