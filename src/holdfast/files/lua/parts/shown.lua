-- What a consumer is told of a file.
-- Expects: feed.

-- Appends: state, count, floor, bytes, digest, problem.
local function show(told, file)
  for _, field in ipairs({'state', 'count', 'floor', 'bytes', 'digest', 'problem'}) do
    local value = file[field]
    told[#told + 1] = type(value) == 'number' and text(value) or value
  end
  return told
end
