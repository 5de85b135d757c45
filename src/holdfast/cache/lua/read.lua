#!lua flags=no-writes
-- cache/read: return values and epochs, as many as fit into the reply.
--
-- KEYS[1]  STRING  value  first of the keys: values and epochs
-- ARGV[1]  int     bytes  maximum bytes of the reply, except that it has at least one value
-- ARGV[2]  int     count  number of keys
-- returns  array   now (ms), then for each key: its content; nil if there is none
-- include clock

local bytes, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local out, taken = {(clock())}, 0
for i = 1, count do
  local content = redis.call('GET', KEYS[i])
  taken = taken + (content and #content or 0)
  if taken > bytes and i > 1 then
    break
  end
  out[i + 1] = content
end
return out
