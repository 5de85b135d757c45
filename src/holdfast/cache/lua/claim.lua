#!lua
-- cache/claim: lease a value to the caller, who computes it, unless another process does.
--
-- KEYS[1]  STRING  epoch     epoch of the unit
-- KEYS[2]  STRING  value     the value, see cache/keys.py
-- KEYS[3]  STRING  load      the lease, or why the latest load failed
-- KEYS[4]  STRING  value     first of the epochs of its tags, if they are on this server
-- ARGV[1]  string  token     identifies the lease
-- ARGV[2]  string  purpose   miss: the caller needs the value; refresh: it replaces one that is still served; put:
--                            it has a new value, and always gets the lease
-- ARGV[3]  string  seen      when the value that the caller rejects was stored (ms); '': none
-- ARGV[4]  string  awaited   token of the load for which the caller has waited; '': none
-- ARGV[5]  int     lease_ms  duration of the lease
-- ARGV[6]  int     kept_ms   how long the epochs live at least
-- ARGV[7]  int     tags      number of epochs of tags in KEYS
-- ARGV[8]  string  first of the epochs of tags that are on other servers
-- returns  array   1: load: the caller has the lease; from 3 on: the epochs of the unit and of the tags
--                     wait: another process has it; 3: ms until the lease ends, 4: its token
--                     newer: a newer value is stored
--                     failed: the awaited load has failed; 3: the reason
--                  2: now (ms)
-- include clock
-- include epochs

local value, load, token, purpose = KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local seen, kept_ms = tonumber(ARGV[3]) or -1, tonumber(ARGV[6])
local FIRST = 8
local TAGS_AFTER = 3
local HEAD = '>I8BBBI4I4I4'
local VERSION = 1
local now_ms, _, now_us = clock()
local now = string.format('%.0f', now_ms)

-- Returns whether the stored value is valid, and was stored after the one that the caller has seen.
local function is_newer(stored, epochs)
  if not stored or #stored < struct.size(HEAD) then
    return false
  end
  local at_ms, version, _, count, _, _, _, at = struct.unpack(HEAD, stored)
  if version ~= VERSION or count ~= #epochs or #stored < at + 8 * count - 1 or at_ms <= seen then
    return false
  end
  for i, epoch in ipairs(epochs) do
    if struct.unpack('>I8', stored, at + 8 * (i - 1)) ~= tonumber(epoch) then
      return false
    end
  end
  return true
end

local epochs = {open_epoch(KEYS[1], now_us, kept_ms)}
for i = 1, tonumber(ARGV[7]) do
  local tag = TAGS_AFTER + i
  epochs[#epochs + 1] = open_epoch(KEYS[tag], now_us, kept_ms)
end
for i = FIRST, #ARGV do
  epochs[#epochs + 1] = ARGV[i]
end
local joined = table.concat(epochs, ' ')
if purpose ~= 'put' then
  local failed, holder, rest = (redis.call('GET', load) or ''):match('^(!?)([^|]*)|(.*)$')
  if is_newer(redis.call('GET', value), epochs) then
    return {'newer', now}
  elseif failed == '!' and holder == ARGV[4] then
    return {'failed', now, rest}
  elseif failed == '!' and purpose == 'refresh'
    or failed == '' and holder ~= token and not is_outdated(rest, joined) then
    return {'wait', now, math.max(0, redis.call('PTTL', load)), holder}
  end
end
redis.call('SET', load, token .. '|' .. joined, 'PX', ARGV[5])
local out = {'load', now}
for _, epoch in ipairs(epochs) do
  out[#out + 1] = epoch
end
return out
