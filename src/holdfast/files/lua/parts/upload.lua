-- Begins a file that is published, appends chunks to it, and ends it.
-- Needs the parts: packed, feed, file, budget.

local MAX_PUBLISHING = 1000  -- maximum number of files that are being published

local function file_cost(feed, name)
  return 1024 + 2 * #name + 192 * groups(feed)
end

local function entry_of(feed, name)
  local packed = redis.call('HGET', feed.names, name)
  return packed and unpacked(packed, {'number', 'bytes'}, 'a name', feed.names) or {}
end

-- Returns a new file; or nil and the status of the reply.
local function begin_file(feed, name, limit)
  local cost = file_cost(feed, name)
  if feed.state ~= 'open' then
    return nil, 'sealed'
  elseif redis.call('HLEN', feed.names) >= MAX_FILES or redis.call('HLEN', feed.publishing) >= MAX_PUBLISHING then
    return nil, 'too_many_files'
  elseif feed.used + cost > limit then
    return nil, 'full'
  end
  feed.used, feed.top, feed.left = feed.used + cost, feed.top + 1, feed.left + 1
  redis.call('HSET', feed.names, name, cmsgpack.pack({number = feed.top}))
  redis.call('HSET', feed.publishing, text(feed.top), name)
  local file = {name = name, state = 'open', count = 0, floor = 0, bytes = 0, digest = '', problem = ''}
  file.cost, file.kept, file.born = cost, 0, feed.now_us
  file.reason, file.done = '', string.rep('0', groups(feed))
  return file
end

local function append_chunk(feed, number, file, chunk, digest)
  if is_wanted(file) then
    feed.used, file.kept = feed.used + charge(#chunk), file.kept + charge(#chunk)
    redis.call('HSET', feed.chunks, text(number) .. ':' .. text(file.count), chunk)
  else  -- all groups have finished the file, so its chunks are not stored
    file.floor = file.count + 1
  end
  file.count, file.digest = file.count + 1, digest
end

local function finish_file(feed, number, file, state, problem)
  file.state, file.problem = state, problem
  local entry = {number = number, state = state, bytes = file.bytes, digest = file.digest}
  redis.call('HSET', feed.names, file.name, cmsgpack.pack(entry))
  redis.call('HDEL', feed.publishing, text(number))
end

local function put_reply(feed, status, number, file, limit)
  local room = math.max(0, (limit or feed.options.budget) - feed.used)
  local reply = {status, feed.epoch, text(room), text(number), text(file and file.bytes or 0)}
  reply[6], reply[7] = file and file.state or '', text(file and file.count or 0)
  reply[8] = file and file.digest or ''
  return reply
end
