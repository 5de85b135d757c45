-- From which lines the next tasks come. Expects: claim, due, ready, now_ms.

-- Due tasks before the others of their priority; in each line from the front.
local function claim_from(priority)
  local passed_over = 0
  while room() > 0 do
    local ids = redis.call('ZRANGE', due[priority], '-inf', now_ms, 'BYSCORE', 'LIMIT', passed_over,
      room())
    if #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      if claim(id, priority) then
        redis.call('ZREM', due[priority], id)
      else
        passed_over = passed_over + 1
      end
    end
  end
  while room() > 0 do
    local ids = redis.call('LPOP', ready[priority], room())
    if not ids or #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      if not claim(id, priority) then
        redis.call('ZADD', due[priority], now_ms, id)
      end
    end
  end
end
