-- What scripts need when more than one client uses a lock or semaphore.
-- Expects: stored, state.
--
-- These functions share the table *permits*. It has the keys `state`, `holders` and `wait_queue`;
-- `now_ms` and `now_us`; `limit`, `fence` and `uncontended` as they were read; and the `channel` of the
-- calling process.

local AT_ONCE = 64            -- permits taken back or handed over in one call
local UNCONFIRMED_MS = 60000  -- how long unconfirmed grants are remembered

-- Moves the uncontended holder to the other holders, and adds to *permits*: `last_fence`, the fence as
-- it was read; `unconfirmed`, how many recent grants were not confirmed; and `messages`, for waiters of
-- the calling process, which its reply returns instead of a notification. Returns the messages.
local function end_uncontended(permits)
  local state, uncontended = permits.state, permits.uncontended
  local more = redis.call('HMGET', state, 'ends_ms', 'unconfirmed', 'unconfirmed_ms')
  local last_ms = more[3] and whole(more[3], 0, EXACT, 'unconfirmed_ms', state) or 0
  local is_recent = more[2] and permits.now_ms - last_ms < UNCONFIRMED_MS
  permits.unconfirmed = is_recent and whole(more[2], 0, EXACT, 'unconfirmed', state) or 0
  local is_held = uncontended and uncontended ~= ''
  if is_held then
    whole(more[1], 0, EXACT, 'ends_ms', state)
  end
  if uncontended then
    redis.call('HDEL', state, 'uncontended', 'ends_ms')
  end
  if is_held then
    redis.call('ZADD', permits.holders, more[1], uncontended)
    redis.call('PEXPIRE', permits.holders, KEPT_MS)
  end
  permits.last_fence, permits.messages = permits.fence, {}
  return permits.messages
end

local function raise_fence(permits)
  permits.fence = next_fence(permits.fence, permits.now_us)
  return permits.fence
end

local function write_fence(permits)
  return write_state(permits.state, permits.limit, permits.fence, permits.last_fence)
end

-- Where the ledger notes that acquisition *id* has ended while a call of it may be in flight: the call
-- must do nothing when it arrives. Named by the end of its number, so about 1000 entries exist at most.
local function ended_entry(id)
  return '~ended~' .. (id:match('%d?%d?%d$') or '')
end
