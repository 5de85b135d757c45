-- Decides whether a producer may enqueue tasks in this partition of a queue.
--
-- A producer chooses partitions by the layout of the queue that it knows, which has a version (see
-- queues/partitions/layout.py). It sends `ROOM`, or `ROOM VERSION INDEX`, or `ROOM VERSION INDEX MODE`:
--   ROOM     new tasks for which there must be room; 0 if an earlier step checked it
--   VERSION  of the layout that the producer knows; without one it takes the queue for one without partitions
--   INDEX    of this partition; 0 is the queue itself, which has the layout
--   MODE     held: an earlier layout chose this partition, so store a task only if this partition has it, or a task
--            with its key; known: store nothing, and only repeat the answer to an earlier call

-- Parses the text of the producer into a table.
local function placement_of(text)
  local room = tonumber(text)
  if room then
    return {room = room, version = 0, index = 0}
  end
  local words = {text:match('^(%d+) (%d+) (%d+) ?(%l*)$')}
  return {
    room = tonumber(words[1]), version = tonumber(words[2]), text = words[2], index = tonumber(words[3]),
    only_held = words[4] == 'held', only_known = words[4] == 'known',
  }
end

-- Returns whether the producer must read the layout again. A partition learns of a later layout from a producer.
local function has_moved(settings, layout, placement)
  if placement.only_known then
    return true
  end
  local version = tonumber((layout or ''):match('^%d+')) or 0
  if placement.version > version and placement.index > 0 then
    redis.call('HSET', settings, 'layout', placement.text)
    return false
  end
  return placement.version ~= version
end
