-- Decides what happens to each task of a batch.
-- Needs the parts: unique, enqueue_unique, placement, is_held.

-- Returns, for the tasks in *args* from *first* on; *known* has the envelopes that are stored under their *ids*:
--   a digit for each (see queues/enqueue); nil if the producer wants an error
--   the number of tasks to store minus the number of all tasks, so 0 or less
--   the unique keys of the tasks that have one (see parts/unique), each with the position `n` of its task
--   by position, the id of the task that held the key before; or, for an error, the id of the task that holds it
local function decide_all(queue, placement, ids, known, args, first)
  local new, digits, wants, held, uniques, holders = {}, {}, 0, {}, {}, {}
  for n, id in ipairs(ids) do
    local envelope = args[first + 5 * (n - 1) + 4]
    if known[n] or new[id] then
      digits[n], wants = '0', wants - 1
    elseif placement.only_held and not is_held(queue, envelope) then
      digits[n], wants = '5', wants - 1
    else
      local unique, digit = unique_of(envelope), '1'
      if unique then
        digit, holders[n] = decide(queue, held, id, unique, envelope)
        uniques[#uniques + 1], unique.n = unique, n
      end
      if digit == '1' then
        new[id] = true
      elseif digit == 'exists' then
        return nil, nil, nil, holders[n]
      else
        wants = wants - 1
      end
      digits[n] = digit
    end
  end
  return digits, wants, uniques, holders
end
