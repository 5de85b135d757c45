#!lua flags=no-writes
-- completions/search: names by their beginning, then by the beginning of a later word.
--
-- KEYS[1]  ZSET    index   members: `kind key NUL name NUL id`
-- ARGV[1]  string  prefix  folded
-- ARGV[2]  int     limit   how many at most
-- returns  array   of members, one for each name and id

local WHOLE, WORD = '0', '1'
local WORDS = 16  -- a name stands in the index so often at most
local index, prefix, limit = KEYS[1], ARGV[1], tonumber(ARGV[2])

local function range(first, last)
  return redis.call('ZRANGE', index, first, last, 'BYLEX', 'LIMIT', 0, limit)
end

local found = range('[' .. WHOLE .. prefix, '(' .. WHOLE .. prefix .. '\255')
if #found == limit then
  return found
end

local seen = {}  -- name and id
for _, member in ipairs(found) do
  seen[member:match('%z.*$')] = true
end
local first, last = '[' .. WORD .. prefix, '(' .. WORD .. prefix .. '\255'
for _ = 1, WORDS + 1 do
  local members = range(first, last)
  for _, member in ipairs(members) do
    local entry = member:match('%z.*$')
    if #found < limit and not seen[entry] then
      found[#found + 1], seen[entry] = member, true
    end
  end
  if #members < limit or #found == limit then
    break
  end
  first = '(' .. members[#members]
end
return found
