-- The feed: what is known of it.
-- Expects: meta.

local BLOCK = 130944  -- unpacked bytes of a chunk, as in chunk.py

local function text(number)
  return string.format('%.0f', number)
end

local feed, terms

local function load()
  local known = redis.call('HMGET', meta, 'definition', 'epoch', 'state', 'used', 'top', 'low', 'left')
  if known[1] then
    terms = cmsgpack.unpack(known[1])
    feed = {said = known[1], epoch = known[2], state = known[3], used = tonumber(known[4])}
    feed.top, feed.low, feed.left = tonumber(known[5]), tonumber(known[6]), tonumber(known[7])
  end
end

load()

-- What stands in the way of a call.
local function refusal(definition, epoch)
  if not feed then
    return {epoch == '' and 'undefined' or 'gone'}
  elseif epoch ~= '' and epoch ~= feed.epoch then
    return {'gone'}
  elseif feed.state == 'aborted' then
    return {'aborted'}
  elseif definition ~= '' and definition ~= feed.said then
    return {'conflict', feed.said}
  end
end
