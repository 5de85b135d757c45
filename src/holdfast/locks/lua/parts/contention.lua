-- Functions for locks and semaphores that several clients use.
-- Needs the parts: stored, state.
--
-- These functions share the table *permits*, which a script creates with these fields:
--   state, holders, wait_queue   the keys
--   now_ms, now_us               the server's time
--   limit, fence, uncontended    the stored values; `limit` may be a new one
--   is_new                       whether `limit` is new and must be stored
--   more                         the stored `ends_ms`, `unconfirmed` and `unconfirmed_ms`; nil: not read yet
--   channel                      channel of the calling process; '': none
--   free, most                   how many permits `hand_over` may grant, and to how many waiters it may
--                                offer them; nil: as many as are free, and to any number
-- `end_uncontended` adds these fields:
--   last_fence                   the stored fence; `fence` may be raised
--   unconfirmed                  number of recent grants that were not confirmed
--   messages                     messages for waiters of the calling process, for the script's reply

local AT_ONCE = 64            -- largest number of permits taken back or granted in one call
local UNCONFIRMED_MS = 60000  -- An unconfirmed grant counts as recent for so long.

-- Moves an uncontended holder to `holders`, adds the fields above to *permits*, and returns
-- `permits.messages`.
local function end_uncontended(permits)
  local state, uncontended = permits.state, permits.uncontended
  local more = permits.more or redis.call('HMGET', state, 'ends_ms', 'unconfirmed', 'unconfirmed_ms')
  local last_ms = more[3] and whole(more[3], 0, EXACT, 'unconfirmed_ms', state) or 0
  local is_recent = more[2] and permits.now_ms - last_ms < UNCONFIRMED_MS
  permits.unconfirmed = is_recent and whole(more[2], 0, EXACT, 'unconfirmed', state) or 0
  local is_held = uncontended and uncontended ~= ''
  if is_held then
    whole(more[1], 0, EXACT, 'ends_ms', state)
  end
  if is_held then  -- Add before removing: if the user may not add (ACL), the holder must not be forgotten.
    redis.call('ZADD', permits.holders, more[1], uncontended)
    redis.call('PEXPIRE', permits.holders, KEPT_MS)
  end
  if uncontended then
    redis.call('HDEL', state, 'uncontended', 'ends_ms')
  end
  if permits.is_new then
    redis.call('HSET', state, 'limit', permits.limit)
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

-- Returns the ledger's writer for an entry that means: acquisition *id* has ended, although a call of it
-- may be in flight. That call must do nothing when it arrives. The writer is named by the last three
-- digits of the id, so that there are at most about 1000 such entries.
local function ended_entry(id)
  return '~ended~' .. (id:match('%d?%d?%d$') or '')
end
