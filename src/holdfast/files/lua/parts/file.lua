-- The stored state of a file: see keys.py.
-- Needs the parts: stored, packed, feed.

local FILE_NUMBERS = {'count', 'floor', 'bytes', 'kept', 'cost', 'born'}
local FILE_TEXTS = {'name', 'state', 'digest', 'problem', 'reason'}

local function groups(feed)
  return feed.options.mode == 'share' and 1 or #feed.options.consumers
end

local function file_at(feed, number)
  local packed = redis.call('HGET', feed.files, text(number))
  if not packed then
    return nil
  end
  local file = unpacked(packed, FILE_NUMBERS, 'file ' .. text(number), feed.files)
  file.reason = file.reason or ''
  for _, field in ipairs(FILE_TEXTS) do
    if type(file[field]) ~= 'string' then
      damaged('file ' .. text(number), feed.files)
    end
  end
  if type(file.done) ~= 'string' or #file.done ~= groups(feed) or file.floor > file.count + 1 then
    damaged('file ' .. text(number), feed.files)
  end
  return file
end

local function is_settled(file, g)
  return file.done:sub(g, g) == '1'
end

-- Returns whether reading the file failed so often for the group *g* that it is not assigned until `retry`.
local function has_failed(file, g)
  return file.done:sub(g, g) == '2'
end

local function set_group_state(file, g, digit)
  file.done = file.done:sub(1, g - 1) .. digit .. file.done:sub(g + 1)
end

-- Returns whether at least one group has not finished the file.
local function is_wanted(file)
  return file.done:find('[^1]') ~= nil
end

-- Appends the view of the file to *reply*: state, count, floor, bytes, digest, problem.
local function append_view(reply, file)
  for _, field in ipairs({'state', 'count', 'floor', 'bytes', 'digest', 'problem'}) do
    local value = file[field]
    reply[#reply + 1] = type(value) == 'number' and text(value) or value
  end
  return reply
end
