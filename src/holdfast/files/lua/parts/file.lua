-- One file of a feed: see keys.py.
-- Expects: sound, stored, feed.

local NUMBERS = {'count', 'floor', 'bytes', 'kept', 'cost', 'born'}
local TEXTS = {'name', 'state', 'digest', 'problem', 'reason'}

local function groups(feed)
  return feed.terms.mode == 'share' and 1 or #feed.terms.consumers
end

local function file_at(feed, number)
  local packed = redis.call('HGET', feed.files, text(number))
  if not packed then
    return nil
  end
  local file = unpacked(packed, NUMBERS, 'file ' .. text(number), feed.files)
  file.reason = file.reason or ''
  for _, field in ipairs(TEXTS) do
    if type(file[field]) ~= 'string' then
      damaged('file ' .. text(number), feed.files)
    end
  end
  if type(file.done) ~= 'string' or #file.done ~= groups(feed) or file.floor > file.count + 1 then
    damaged('file ' .. text(number), feed.files)
  end
  return file
end

local function settled(file, g)
  return file.done:sub(g, g) == '1'
end

-- Whether reading it has failed so often that it is not handed out until `retry`.
local function has_failed(file, g)
  return file.done:sub(g, g) == '2'
end

local function mark(file, g, digit)
  file.done = file.done:sub(1, g - 1) .. digit .. file.done:sub(g + 1)
end

-- Whether a group has still to read it.
local function is_wanted(file)
  return file.done:find('[^1]') ~= nil
end

-- Appends the fields of its view: state, count, floor, bytes, digest, problem.
local function show(told, file)
  for _, field in ipairs({'state', 'count', 'floor', 'bytes', 'digest', 'problem'}) do
    local value = file[field]
    told[#told + 1] = type(value) == 'number' and text(value) or value
  end
  return told
end
