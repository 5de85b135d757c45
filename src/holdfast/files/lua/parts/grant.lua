-- The answer to the consumer that holds a file now.
-- Expects: stored, feed, life, file.

-- If the file has one chunk of at most *small* bytes, the answer contains it.
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
