-- Makes the usual reservation: one limit, a new operation, and the costs fit now. The stored state is changed as
-- text, which takes half the time of unpacking and packing it.
-- Needs the parts: format, log, entries.

local HEAD_BYTES, LOG_BYTES = 9, 8
local LOG_AND_SUM = '>I2I5BI5'  -- LOG, SUM
local NEW_LOG = '>I6I2I5BI5'  -- instant of the last mark, LOG, SUM

-- Finds the log of *tag* (the number that identifies a limit) in *stored*. It must be the only log there, with at least
-- two entries. Returns the positions of its first and last entry, its sum, and the positions of the marks and of the
-- log. Returns nil for any other state, also for a damaged one.
local function only_log(stored, tag, per_ms, now)
  if #stored < HEAD_BYTES then
    return nil
  end
  local version, seen, marks, logs, marks_at = struct.unpack(HEAD, stored)
  local log_at = marks_at + RECORD * marks
  if version ~= VERSION or logs ~= 1 or seen > now or #stored < log_at + LOG_BYTES + SUM_BYTES then
    return nil
  end
  local log_tag, log_per, entries, sum, first = struct.unpack(LOG_AND_SUM, stored, log_at)
  local last = first + SIZE * (entries - 1)
  if entries < 2 or log_tag ~= tag or log_per ~= per_ms or #stored ~= last + SIZE - 1 or sum >= MOST_COST then
    return nil
  end
  return first, last, sum, marks_at, log_at
end

-- Reserves *cost* at the instant *now* in *stored*. Returns the new state, and what passes in the period that ends now.
-- Returns nil if this is not the usual case. It adds the entry as `add_entry` in parts/entries does.
local function reserve_now(stored, now, mark, tag, amount, per_ms, cost)
  local first, last, sum, marks_at, log_at = only_log(stored, tag, per_ms, now)
  if not first then
    return nil
  end
  local at, past
  for i = first, last, SIZE do
    at, past = struct.unpack(ENTRY, stored, i)
    if at > now - per_ms then
      break
    end
    first, sum = i + SIZE, sum - past
  end
  if first > last then
    return nil
  end
  at, past = struct.unpack(ENTRY, stored, last)
  local size, grain = (last - first) / SIZE + 1, math.ceil(per_ms / EXACT)
  local joins = at == now or size >= EXACT and math.floor(at / grain) == math.floor(now / grain)
  local count, all, total = joins and size or size + 1, joins and past + cost or cost, sum + cost
  if cost == 0 or at > now or total > amount or sum < 0 or all > MOST_COST
    or count < 2 or count >= MOST then
    return nil
  end
  local marks, kept_from = (log_at - marks_at) / RECORD + 1, marks_at
  if marks > MARKS then
    marks, kept_from = MARKS, log_at - RECORD * (MARKS - 1)
  end
  return struct.pack(HEAD, VERSION, now, marks, 1) .. stored:sub(kept_from, log_at - 1) .. mark
    .. struct.pack(NEW_LOG, now, tag, per_ms, count, total) .. stored:sub(first, joins and last - 1 or last + SIZE - 1)
    .. struct.pack(ENTRY, now, all), total
end
