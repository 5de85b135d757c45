-- Phases of a reader-writer lock: readers enter together, writers one by one, and the phases take turns.
-- Expects: stored, state, contention, hand_over.
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

-- Returns how many waiting readers may enter now, and begins a read phase if it is time for one.
local function entering_readers(permits, mode)
  local readers = redis.call('ZCARD', permits.read_queue)
  if readers == 0 then
    return 0
  end
  local entering = 0
  if tonumber(permits.phase) then
    entering = redis.call('ZCOUNT', permits.read_queue, '-inf', permits.phase)
  end
  local has_turn = not mode and permits.phase == WRITE
  if entering == 0 and (has_turn or redis.call('EXISTS', permits.write_queue) == 0) then
    local last = redis.call('ZRANGE', permits.read_queue, 0, 0, 'REV', 'WITHSCORES')[2]
    set_phase(permits, last)
    entering = readers
  end
  return entering
end

-- Lets the waiters enter whose turn it is; see `hand_over`, also for what it returns.
local function hand_over_in_phases(permits)
  for _ = 1, 3 do  -- If all waiters of one mode are dead, the others have their turn.
    local mode = held_mode(permits)
    if mode == WRITE then
      break
    end
    local entering = entering_readers(permits, mode)
    if entering > 0 then
      permits.wait_queue, permits.free, permits.most = permits.read_queue, entering, entering
    elseif not mode and redis.call('EXISTS', permits.write_queue) == 1 then
      permits.wait_queue, permits.free, permits.most = permits.write_queue, 1, nil
    else
      break
    end
    local successor, successors = hand_over(permits)
    if successor ~= '' then
      if entering == 0 then
        set_phase(permits, WRITE)
      end
      return successor, successors
    end
  end
  return '', {}
end
