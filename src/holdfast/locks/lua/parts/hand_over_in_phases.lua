-- Grants of a reader-writer lock to its waiters.
-- Needs the parts: contention, hand_over, phases.

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

-- Lets the waiters enter that have their turn; see `hand_over`, also for what it returns.
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
