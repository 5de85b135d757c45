#!lua flags=allow-oom
-- queues/forget_call: let the note that a group has called a task expire soon, because the group knows it too.
--
-- KEYS[1]  STRING  called   that the task was enqueued
-- ARGV[1]  int     kept_ms
-- returns  int     1 if it was known, otherwise 0
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
