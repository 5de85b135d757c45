-- Counts finished bytes, and drops chunks and files that no group needs.
-- Needs the parts: packed, feed, file, positions, budget.

local DROPPED_AT_ONCE = 512  -- maximum number of chunks that one call drops; `feed.dropped` counts them

-- Sets the size of a file to *bytes*. Groups that have finished the file have finished the new bytes, too.
local function grow(feed, file, bytes)
  redis.call('HINCRBY', feed.meta, 'bytes', text(bytes - file.bytes))
  for g = 1, #file.done do
    if is_settled(file, g) then
      redis.call('HINCRBY', feed.meta, 'done:' .. g, text(bytes - file.bytes))
    end
  end
  file.bytes = bytes
end

-- Marks the file as finished by the group. Returns how many of its bytes had not been counted as finished.
local function settle_group(feed, number, file, group)
  local position = position_of(feed, group, number)
  if has_failed(file, group) then
    redis.call('HINCRBY', feed.meta, 'failed', -1)
  end
  redis.call('HINCRBY', feed.meta, 'done:' .. group, text(file.bytes - position.counted))
  redis.call('HDEL', feed.positions, group .. ':' .. text(number))
  set_group_state(file, group, '1')
  if not is_wanted(file) then
    feed.left = feed.left - 1
  end
  return file.bytes - position.counted
end

-- Returns how many chunks this call of the script may still drop.
local function allowance(feed)
  return DROPPED_AT_ONCE - (feed.dropped or 0)
end

local function drop_chunks(feed, number, file, upto)
  local last = math.min(upto, file.floor + allowance(feed))
  for i = file.floor, last - 1 do
    local chunk = text(number) .. ':' .. i
    local bytes = charge(redis.call('HSTRLEN', feed.chunks, chunk))
    feed.used, file.kept = feed.used - bytes, file.kept - bytes
    redis.call('HDEL', feed.chunks, chunk)
  end
  feed.dropped = (feed.dropped or 0) + math.max(0, last - file.floor)
  file.floor = math.max(file.floor, last)
end

local function save_file(feed, number, file)
  if is_wanted(file) or file.state == 'open' or file.floor < file.count then
    redis.call('HSET', feed.files, text(number), cmsgpack.pack(file))
  else
    redis.call('HDEL', feed.files, text(number))
    feed.used = feed.used - file.cost
  end
end
