-- What a schedule has done: `revision:anchor:last:fired:missed:skipped:seen:id` (see keys.py).

local function parse_schedule(text)
  local revision, anchor, last, fired, missed, skipped, seen, id =
    (text or ''):match('^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
  return {
    revision = tonumber(revision) or 0,
    anchor = tonumber(anchor) or 0,
    last = tonumber(last) or 0,
    fired = tonumber(fired) or 0,
    missed = tonumber(missed) or 0,
    skipped = tonumber(skipped) or 0,
    seen = tonumber(seen) or 0,
    id = id or '',
  }
end

local function packed_schedule(schedule)
  return string.format('%.0f:%.0f:%.0f:%.0f:%.0f:%.0f:%.0f:%s', schedule.revision, schedule.anchor,
    schedule.last, schedule.fired, schedule.missed, schedule.skipped, schedule.seen, schedule.id)
end
