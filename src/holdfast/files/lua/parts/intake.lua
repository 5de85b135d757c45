-- How a file begins, grows and ends.
-- Expects: now_us, sound, feed, file, room, names, chunks, opened.

local MANY_OPEN = 1000  -- of these, files that are being published

local function file_cost(name)
  return 1024 + 2 * #name + 192 * groups()
end

local function entry_of(name)
  local packed = redis.call('HGET', names, name)
  return packed and unpacked(packed, names, 'a name', {'number', 'bytes'}) or {}
end

-- A new file; or none, and why.
local function begin(name, limit)
  local cost = file_cost(name)
  if feed.state ~= 'open' then
    return nil, 'sealed'
  elseif redis.call('HLEN', names) >= MANY or redis.call('HLEN', opened) >= MANY_OPEN then
    return nil, 'many'
  elseif feed.used + cost > limit then
    return nil, 'full'
  end
  feed.used, feed.top, feed.left = feed.used + cost, feed.top + 1, feed.left + 1
  redis.call('HSET', names, name, cmsgpack.pack({number = feed.top}))
  redis.call('HSET', opened, text(feed.top), name)
  local file = {name = name, state = 'open', count = 0, floor = 0, bytes = 0, digest = '', problem = ''}
  file.cost, file.kept, file.born = cost, 0, now_us
  file.reason, file.done = '', string.rep('0', groups())
  return file
end

local function take_in(number, file, chunk, digest)
  if is_wanted(file) then
    feed.used, file.kept = feed.used + charge(#chunk), file.kept + charge(#chunk)
    redis.call('HSET', chunks, text(number) .. ':' .. text(file.count), chunk)
  else  -- everybody is done with it already
    file.floor = file.count + 1
  end
  file.count, file.digest = file.count + 1, digest
end

local function finish(number, file, state, problem)
  file.state, file.problem = state, problem
  local entry = {number = number, state = state, bytes = file.bytes, digest = file.digest}
  redis.call('HSET', names, file.name, cmsgpack.pack(entry))
  redis.call('HDEL', opened, text(number))
end

local function answer(verdict, number, file, limit)
  local room = math.max(0, (limit or terms.budget) - feed.used)
  local told = {verdict, feed.epoch, text(room), text(number), text(file and file.bytes or 0)}
  told[6], told[7] = file and file.state or '', text(file and file.count or 0)
  told[8] = file and file.digest or ''
  return told
end
