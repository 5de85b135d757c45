-- What a consumer is told of a file that it holds now.
-- Expects: stored, feed, life, file.

-- Of a file of one chunk that takes no more than *small* bytes, the chunk comes along.
local function told_of(feed, number, file, place, small)
  save(feed)
  local told = {'file', feed.epoch, text(number), text(place.token), text(place.acked), file.name}
  told[#told + 1] = text(file.born)
  show(told, file)
  local only = file.count == 1 and text(number) .. ':0'
  if only and redis.call('HSTRLEN', feed.chunks, only) <= small then
    told[#told + 1] = redis.call('HGET', feed.chunks, only)
  end
  return told
end
