-- The feed: what is known of it.
-- Expects: meta, sound.

local BLOCK = 130944        -- unpacked bytes of a chunk, as in chunk.py
local MOST_CONSUMERS = 100  -- as in definition.py
local MANY = 100000         -- files of a feed: their names are remembered

local feed, terms

local function load()
  local known = redis.call('HMGET', meta, 'definition', 'epoch', 'state', 'used', 'top', 'low', 'left')
  if not known[1] then
    return
  end
  terms = unpacked(known[1], meta, 'the definition', {'budget', 'lease_ms'})
  if type(terms.consumers) ~= 'table' or #terms.consumers > MOST_CONSUMERS then
    damaged(meta, 'the definition')
  end
  feed = {said = known[1], epoch = known[2], state = known[3], used = decimal(known[4], meta, 'used')}
  feed.top, feed.low = decimal(known[5], meta, 'top'), decimal(known[6], meta, 'low')
  feed.left = decimal(known[7], meta, 'left')
  decimal(feed.epoch, meta, 'epoch')
  if feed.top > MANY or feed.low > MANY + 1 then
    damaged(meta, 'top')
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
