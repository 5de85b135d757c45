#!lua flags=no-writes
-- completions/search: find names by their beginning, then by the beginning of a later word.
--
-- KEYS[1]  ZSET    index   members: `kind key NUL name NUL id`
-- ARGV[1]  string  whole   beginning of the members with a whole name as key
-- ARGV[2]  string  word    beginning of the members with a later word as key
-- ARGV[3]  int     limit   largest number of members to return
-- ARGV[4]  int     words   largest number of members that one name with one id has in the index
-- returns  array   members, at most one for each name and id

local index, whole, word = KEYS[1], ARGV[1], ARGV[2]
local limit, words = tonumber(ARGV[3]), tonumber(ARGV[4])

local function range(first, last)
  return redis.call('ZRANGE', index, first, last, 'BYLEX', 'LIMIT', 0, limit)
end

local found = range('[' .. whole, '(' .. whole .. '\255')
if #found == limit then
  return found
end

local seen = {}  -- `NUL name NUL id` -> true, for each member found
for _, member in ipairs(found) do
  seen[member:match('%z.*$') or member] = true
end
local first, last = '[' .. word, '(' .. word .. '\255'
for _ = 1, words + 1 do
  local members = range(first, last)
  for _, member in ipairs(members) do
    local entry = member:match('%z.*$') or member
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
