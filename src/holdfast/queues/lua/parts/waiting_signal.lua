-- Finds the signal that ends a wait.
-- Needs the parts: step_index.

-- Returns the position in `index.signals` of the first signal with the name that the *pending* wait waits for, if it was
-- sent in time; otherwise nil.
local function found_signal(index, pending)
  local kind, _, signal, until_ms = pending[1], pending[2], pending[3], pending[4]
  for position, sent in ipairs(kind == 'wait' and index.signals or {}) do
    if sent[3] == signal and sent[2] <= until_ms then
      return position
    end
  end
  return nil
end
