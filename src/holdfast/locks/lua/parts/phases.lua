-- Phases of a reader-writer lock: readers enter together, writers one by one, and the phases take turns.
-- Needs the parts: stored, state.
--
-- A reader that comes while a writer waits enters in the next read phase. When that begins, all readers
-- that wait enter, also those that came after the next writer. So a reader waits for one writer at most,
-- and a writer for one read phase between two writers. Source: B. Brandenburg and J. Anderson,
-- "Spin-based reader-writer synchronization for multiprocessor real-time systems" (2010), section 3.
--
-- The table *permits* has these fields too: read_queue, write_queue (keys) and phase (see keys.state).

local READ, WRITE = 'r', 'w'

-- Returns the mode of an acquisition: READ or WRITE. Its id ends in the mode and a number.
local function mode_of(id)
  return id:match('%.(%a)%d+$')
end

-- Returns the mode of the holders; nil if there is none.
local function held_mode(permits)
  local holder = redis.call('ZRANGE', permits.holders, 0, 0)[1]
  return holder and (mode_of(holder) or WRITE)
end

-- Returns the stored phase; see keys.state.
local function read_phase(state)
  local phase = redis.call('HGET', state, 'phase') or WRITE
  if phase ~= WRITE then
    whole(phase, 0, EXACT, 'phase', state)
  end
  return phase
end

local function set_phase(permits, phase)
  if permits.phase ~= phase then
    permits.phase = phase
    redis.call('HSET', permits.state, 'phase', phase)
  end
end
