#!lua flags=allow-oom
-- queues/forget_call: let the note that a group has enqueued a task expire, because the group has stored that, too.
--
-- KEYS[1]  STRING  called   exists if a group has enqueued the task
-- ARGV[1]  int     kept_ms  how long the note stays from now on
-- returns  int     1 if there is a note, otherwise 0
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
