-- How files are kept, and let go.
-- Expects: meta, sound, feed, life, file, places, room, files, chunks.

local allowance = 512  -- chunks dropped in one go

-- Its bytes are so many now; who is done with it is done with these as well.
local function grow(file, bytes)
  redis.call('HINCRBY', meta, 'bytes', text(bytes - file.bytes))
  for g = 1, #file.done do
    if settled(file, g) then
      redis.call('HINCRBY', meta, 'done:' .. g, text(bytes - file.bytes))
    end
  end
  file.bytes = bytes
end

-- From now on the file is nothing to this group any more.
local function settle(number, file, group)
  local place = place_of(group, number)
  if has_failed(file, group) then
    redis.call('HINCRBY', meta, 'failed', -1)
  end
  redis.call('HINCRBY', meta, 'done:' .. group, text(file.bytes - place.counted))
  redis.call('HDEL', places, group .. ':' .. text(number))
  mark(file, group, '1')
  if not is_wanted(file) then
    feed.left = feed.left - 1
  end
  return file.bytes - place.counted
end

local function drop(number, file, upto)
  local last = math.min(upto, file.floor + allowance)
  for i = file.floor, last - 1 do
    local chunk = text(number) .. ':' .. i
    local bytes = charge(redis.call('HSTRLEN', chunks, chunk))
    feed.used, file.kept = feed.used - bytes, file.kept - bytes
    redis.call('HDEL', chunks, chunk)
  end
  allowance = allowance - math.max(0, last - file.floor)
  file.floor = math.max(file.floor, last)
end

local function keep_file(number, file)
  if is_wanted(file) or file.state == 'open' or file.floor < file.count then
    redis.call('HSET', files, text(number), cmsgpack.pack(file))
  else
    redis.call('HDEL', files, text(number))
    feed.used = feed.used - file.cost
  end
end
