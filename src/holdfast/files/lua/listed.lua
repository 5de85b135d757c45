#!lua flags=no-writes
-- files/listed: the files that are there, of those that were begun last.
--
-- KEYS[1]  HASH    meta   definition, and how many files
-- KEYS[2]  HASH    files  number -> what is known of the file
-- ARGV[1]  int     limit  of numbers that are looked at
-- returns  array   nothing: there is no feed; or its definition, and of each file, the newest first:
--                  number, name, state, bytes, bytes kept, problem, a digit for each group (1 done)

local function text(number)
  return string.format('%.0f', number)
end

local known = redis.call('HMGET', KEYS[1], 'definition', 'top')
if not known[1] then
  return {}
end
local told, top, limit = {known[1]}, tonumber(known[2]), tonumber(ARGV[1])
for number = top, math.max(1, top - limit + 1), -1 do
  local packed = redis.call('HGET', KEYS[2], text(number))
  if packed then
    local file = cmsgpack.unpack(packed)
    told[#told + 1] = text(number)
    told[#told + 1] = file.name
    told[#told + 1] = file.state
    told[#told + 1] = text(file.bytes)
    told[#told + 1] = text(file.kept)
    told[#told + 1] = file.problem
    told[#told + 1] = file.done
  end
end
return told
