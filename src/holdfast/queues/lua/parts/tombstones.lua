-- The id of a cancelled task stays in its ready list as a tombstone: a search in a long list is slow.
-- While it is there, a later task of the same id is stored in a `due` set instead. Otherwise the later
-- task would run when the turn of the cancelled one comes.

-- Returns *key*, the SET of tombstones; false while it is empty.
local function tombstones_in(key)
  return redis.call('SCARD', key) > 0 and key
end

-- Returns whether *id* is a tombstone. *tombstones* is what `tombstones_in` returned.
local function has_tombstone(tombstones, id)
  return tombstones and redis.call('SISMEMBER', tombstones, id) == 1
end
