-- Storing the state of a subject. Needs the parts: format, state.

-- Stores the state. It expires when all entries are older than the period of their limit.
local function write_state(state, key)
  local logs, last = {}, 0
  for _, log in ipairs(state.logs) do
    local ends = log.entries == '' and 0 or log.per + struct.unpack('>I6', log.entries, #log.entries - SIZE + 1)
    if ends > state.now then
      local entries = #log.entries / SIZE
      local sum = entries > 1 and struct.pack(SUM, math.min(log.total, MOST_COST)) or ''
      logs[#logs + 1] = struct.pack(LOG, log.tag, log.per, entries) .. sum .. log.entries
      last = math.max(last, ends)
    end
  end
  if #logs == 0 then
    redis.call('DEL', key)
    return
  end
  local count = #logs
  logs[#logs + 1] = state.ahead > 0 and struct.pack(AHEAD, state.ahead) or nil
  local head = struct.pack(HEAD, VERSION, state.now, #state.marks / RECORD, count)
  redis.call('SET', key, head .. state.marks .. table.concat(logs), 'PX', string.format('%.0f', last - state.now))
end
