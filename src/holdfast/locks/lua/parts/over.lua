-- Acquisitions that ended while a call of theirs was perhaps still on its way: it must come too late.

-- Where the ledger remembers *id*. About a thousand are remembered, by the end of their numbers.
local function over_entry(id)
  return '~over~' .. (id:match('%d?%d?%d$') or '')
end
