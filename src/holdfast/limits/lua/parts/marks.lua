-- The marks of the latest operations on a subject. A mark identifies an operation, so that the operation changes
-- nothing if it is repeated.
-- Needs the parts: format, state.

-- Returns the instant that the operation with this *mark* got; nil if the operation is new. Returns false if that
-- cannot be known: its first attempt was up to *age_ms* ago, and later operations have replaced the marks of that time.
local function marked_at(state, mark, age_ms)
  if age_ms == '' then
    return nil
  end
  for i = 1, #state.marks, RECORD do
    if state.marks:sub(i, i + MARK - 1) == mark then
      return (struct.unpack('>I6', state.marks, i + MARK))
    end
  end
  local is_full = #state.marks == MARKS * RECORD
  if is_full and struct.unpack('>I6', state.marks, 1 + MARK) > state.now - age_ms then
    return false
  end
  return nil
end

-- Removes the *mark* of a reservation that is given back, so that its repetition reserves again.
local function remove_mark(state, mark)
  for i = 1, #state.marks, RECORD do
    if state.marks:sub(i, i + MARK - 1) == mark then
      state.marks = state.marks:sub(1, i - 1) .. state.marks:sub(i + RECORD)
      return
    end
  end
end

local function add_mark(state, mark, at)
  state.marks = (state.marks .. mark .. struct.pack('>I6', at)):sub(-MARKS * RECORD)
end
