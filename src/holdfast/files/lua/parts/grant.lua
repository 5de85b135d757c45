-- The answer to the consumer that holds a file now.
-- Expects: sound, feed, life, file, chunks.

-- If the file has one chunk of at most *small* bytes, the answer contains it.
local function told_of(number, file, place, small)
  save()
  local told = {'file', feed.epoch, text(number), text(place.token), text(place.acked), file.name}
  told[#told + 1] = text(file.born)
  show(told, file)
  local only = file.count == 1 and text(number) .. ':0'
  if only and redis.call('HSTRLEN', chunks, only) <= small then
    told[#told + 1] = redis.call('HGET', chunks, only)
  end
  return told
end
