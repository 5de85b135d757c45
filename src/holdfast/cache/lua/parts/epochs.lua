-- Epochs: numbers that only grow, see cache/keys.py.

-- Returns the epoch in *key* as text. Sets it if there is none, and lets it live for *kept_ms* at least. Extends its
-- life by more than necessary, so that this is rare: each change notifies the processes that track the key.
local function open_epoch(key, now_us, kept_ms)
  local epoch = redis.call('GET', key)
  if not epoch or not epoch:find('^%d+$') then
    epoch = string.format('%.0f', now_us)
    redis.call('SET', key, epoch, 'PX', string.format('%.0f', 2 * kept_ms))
  elseif redis.call('PTTL', key) < kept_ms then
    redis.call('PEXPIRE', key, string.format('%.0f', 2 * kept_ms))
  end
  return epoch
end

-- Returns whether one of *epochs* (text, separated by spaces) is greater than the one at the same place in *before*, or
-- whether the two have different lengths.
local function is_outdated(before, epochs)
  local others = {}
  for epoch in before:gmatch('%d+') do
    others[#others + 1] = tonumber(epoch)
  end
  local n = 0
  for epoch in epochs:gmatch('%d+') do
    n = n + 1
    if not others[n] or tonumber(epoch) > others[n] then
      return true
    end
  end
  return n ~= #others
end
