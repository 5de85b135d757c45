-- Begins a feed, and compares the definitions that clients give later with the stored one.
-- Needs the parts: packed, feed, lifecycle.

-- Returns whether *options* may be replaced by *other*: mode and consumers are the same.
local function becomes(options, other)
  return options.mode == other.mode and table.concat(options.consumers, '\n') == table.concat(other.consumers, '\n')
end

-- Compares a given definition with the stored one, and applies *on_conflict* if they differ: `update` stores the given
-- one, '' keeps the stored one. Returns the definition that `refusal` compares with the stored one afterwards.
local function settle_definition(feed, given, on_conflict)
  if given == '' or given == feed.definition or on_conflict == 'error' or feed.state == 'aborted' then
    return given
  end
  local options = unpacked(given, {'budget', 'lease_ms'}, 'a definition', feed.meta)
  if not becomes(feed.options, options) then
    return given
  end
  if on_conflict == 'update' and feed.state ~= 'over' then
    redis.call('HSET', feed.meta, 'definition', given)
    feed.definition, feed.options = given, options
  end
  return feed.definition
end

-- Begins the feed if it does not exist and the caller gives a definition but no epoch. *given* is on_conflict (error,
-- update, or '' for keep), a blank and the definition; or '' for none. Returns the definition that `refusal` compares
-- with the stored one; '': any.
local function begin_feed(feed, given, epoch)
  local on_conflict, definition = given:match('^(%a*) (.*)$')
  definition = definition or ''
  if feed.definition and epoch == '' then
    return settle_definition(feed, definition, on_conflict)
  elseif definition == '' or epoch ~= '' then
    return definition
  end
  -- Keys of an earlier feed may exist if the server evicted only some of them.
  redis.call('UNLINK', other_keys(feed))
  redis.call('HSET', feed.meta, 'definition', definition, 'epoch', text(feed.now_us), 'state', 'open')
  redis.call('HSET', feed.meta, 'used', BASE, 'top', 0, 'low', 1, 'left', 0, 'bytes', 0, 'token', 0)
  read_feed(feed)
  for _, consumer in ipairs(feed.options.consumers) do
    renew_consumer(feed, consumer)  -- a consumer counts as alive for a lease before its first call
  end
  save_feed(feed)
  return definition
end
