#!lua flags=allow-oom
-- queues/drop_group: remove a group, because none of its members could be stored.
--
-- KEYS[1]  HASH    group       the record of the group
-- KEYS[2]  HASH    group_ends  name of a member -> how it ended
-- KEYS[3]  HASH    calls       name -> a call that is enqueued later
-- returns  int     how many keys it had
return redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
