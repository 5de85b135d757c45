-- The reply of claim.lua that assigns a file.
-- Needs the parts: packed, feed, lifecycle, file.

-- Saves the feed and returns the reply. If the file has one chunk of at most *small* bytes, the reply contains it.
local function assignment_reply(feed, number, file, position, small)
  save_feed(feed)
  local reply = {'file', feed.epoch, text(number), text(position.token), text(position.acked), file.name}
  reply[#reply + 1] = text(file.born)
  append_view(reply, file)
  local only = file.count == 1 and text(number) .. ':0'
  if only and redis.call('HSTRLEN', feed.chunks, only) <= small then
    reply[#reply + 1] = redis.call('HGET', feed.chunks, only)
  end
  return reply
end
