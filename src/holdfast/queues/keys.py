"""Every key of queues, workers, schedules and groups: its type, content and lifetime.

Where no lifetime is given, what describes a task is removed with the task.

*h m l* stand for the priorities high, medium and low.

A queue with partitions has these keys once for each: `{queue:email}`, `{queue:email/1}`, and so on.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "queue"
WORKERS = "workers"
SCHEDULES = "schedules"
GROUP = "group"
PRIORITIES = ("high", "medium", "low")


def bodies(unit: Unit) -> str:
    """HASH id → envelope, for every task that is not done or cancelled; dead tasks included."""
    return unit.key("bodies")


def state(unit: Unit) -> str:
    """HASH id → `token:attempts:crashes:priority:expires:parked:snoozes:note`, once claimed.

    The token grows with every claim, and fences settlements. `expires` is when the task expires; it
    is set while the task runs (otherwise, see `expiring`). `parked` is since when the task waits
    for a worker that knows it. Both are in ms, 0 for never. `snoozes` is how often the task asked
    to run later.

    The note of a running task is the channel and the name of its worker, since when the task was
    due if it was in a due set, and `unique` if it is unique, or `member` if it is a member of a
    group. Otherwise the note is the last error.
    """
    return unit.key("state")


def leases(unit: Unit) -> str:
    """ZSET of the running tasks, scored by when their lease ends (ms)."""
    return unit.key("leases")


def ready(unit: Unit) -> tuple[str, str, str]:
    """LIST of ids, the next one first: one per priority."""
    return unit.key("ready:h"), unit.key("ready:m"), unit.key("ready:l")


def due(unit: Unit) -> tuple[str, str, str]:
    """ZSET of delayed, retried and reclaimed tasks, scored by when they may run (ms).

    A released task gets the score that it had before.
    """
    return unit.key("due:h"), unit.key("due:m"), unit.key("due:l")


def idle(unit: Unit) -> str:
    """ZSET of the channels of idle workers, scored by when they are forgotten (ms).

    It lives for 10 minutes after the last step of an idle worker.
    """
    return unit.key("idle")


def dead(unit: Unit) -> str:
    """ZSET of the dead tasks, scored by when they died (ms)."""
    return unit.key("dead")


def expiring(unit: Unit) -> str:
    """ZSET of queued tasks that expire, scored by when they expire and must not start (ms)."""
    return unit.key("expiring")


def tombstones(unit: Unit) -> str:
    """SET of ids of cancelled tasks that are still in a ready list, until their turn comes.

    Until then, a later task of the same id waits in a due set, not in a ready list.
    """
    return unit.key("tombstones")


def unique(unit: Unit) -> str:
    """HASH key → `latest:id`, for the unique tasks that hold a key; until they release it.

    The key is a digest of the task's name and of the arguments that `Unique` names. `latest` is the
    instant beyond which the task must not be postponed (ms), 0 for none. An entry counts only if
    the envelope of the task names the key, and the task is not dead.
    """
    return unit.key("unique")


def kept(unit: Unit) -> str:
    """HASH key → `until:id`, for done tasks that hold their key until then (ms); kept as long."""
    return unit.key("unique:kept")


def limit_keys(unit: Unit) -> str:
    """HASH of the limit keys in use (see `PerKey`); kept while tasks use one, or it has a state.

    The state is a pause, a rate or a turn. Each key has a slot, which is a number. The field
    `NAME KEY` has the slot. The field of the slot has `not_before:turn:priority:starts:name:key`,
    with blanks in place of the colons:

    - `not_before`: no task of the key starts before (ms), 0 for at once;
    - `turn` and `priority`: when the key is new again (see `lua/parts/turns.lua`);
    - `starts`: the last starts, if the limit has a rate (see `lua/parts/starts.lua`).

    `next` is the last slot that was given, `turns:1` to `turns:3` count the turns of each priority,
    and `until` is when the last key may be forgotten (ms). No key is paused after it.
    """
    return unit.key("limit:keys")


def admitted(unit: Unit) -> str:
    """ZSET of the tasks with a permit of their limit key. They are ready, due or running.

    The score is 4 times the slot of the limit key, which is its number in `limit_keys`. For a task
    that does not run, its priority is added: 1 is high, 3 is low.
    """
    return unit.key("limit:admitted")


def limited(unit: Unit) -> str:
    """ZSET of the tasks that are kept apart: they wait for a permit of their limit key.

    The score is 2²⁸ times the slot of the limit key, plus 2²⁶ times the priority, plus a number
    that grows with each task, or is less than the others for a task that is released.
    """
    return unit.key("limit:waiting")


def awaited(unit: Unit) -> str:
    """HASH id → channels to notify when the task ends; kept a minute after the last waiter."""
    return unit.key("awaited")


def settings(unit: Unit) -> str:
    """HASH of the settings of the queue. It is never removed.

    `paused`, if paused; `capacity` (0: no limit) and `history`, if given. `stepped` is set once a
    task has had steps. `limit` is the limit of the whole queue, `concurrency amount per_ms`, and
    `starts` the log of its rate. `limited` is set once a task with a limit key was enqueued, and
    `limit:NAME` is the definition of each such limit: `concurrency amount per_ms fair`. `changed`
    is set once a definition was changed. Then steps of workers examine the limit keys, to admit the
    tasks that the new definition allows; until they have done, `sweep` is the next slot to examine.

    A queue with partitions has its `layout`: `version partitions served`, then `version:partitions:
    until_ms` of each earlier one. Each partition has a share of `whole:capacity` and `whole:limit`.
    In partitions other than the first one, `layout` is only the version.
    """
    return unit.key("settings")


def throughput(unit: Unit) -> str:
    """HASH minute modulo 120 → `minute:done:retried:dead:snoozed:gave_up`; kept two hours.

    They are the numbers of runs that ended in that minute. `dead` does not include those that gave
    up.
    """
    return unit.key("throughput")


def history(unit: Unit) -> str:
    """LIST of records of the tasks that ended last; kept a week after the last of them.

    A record is `number:ended_ms:state:attempts:crashes:bytes:id`, then `duration_us:bytes:name`,
    then the worker, a blank and the reason. *bytes* is the length of the id, or of the name. The
    numbers have no gaps. The state is `done`, `dead` or `cancelled`. There are 1,000 records, or as
    many as `history` of the settings says, and at most a tenth more.
    """
    return unit.key("history")


def step_index(unit: Unit) -> str:
    """HASH id → the index of the steps of a task, as MessagePack; as long as the task.

    It has the number and the size of the steps that have ended, the sleep or the wait that has
    begun, and the number, the instant and the name of each signal that no wait has taken. See
    `lua/parts/step_index.lua`.
    """
    return unit.key("step:index")


def steps(unit: Unit) -> str:
    """HASH `number:id` → how a step of a task ended; as long as the task.

    A record is `ended_ms:token:attempt:duration_us:kind:outcome:bytes:name`, and then JSON. *bytes*
    is the length of the name. The kind is `step`, `sleep` or `wait`. The outcome is `done`, and the
    JSON is the result; `failed`, and it is the exception; or `late`, for a wait that timed out.
    """
    return unit.key("steps")


def signals(unit: Unit) -> str:
    """HASH `number:id` → the value of a signal, as JSON; until a wait takes it or the task ends."""
    return unit.key("signals")


def result(unit: Unit, task_id: str) -> str:
    """STRING `state:attempts:ended_ms:payload` of a done or cancelled task; for its `result_ttl`.

    The payload of a done task is `=` and its result as JSON, or `!` and why that was not stored.
    """
    return unit.key("result:") + task_id


def progress(unit: Unit) -> str:
    """HASH id → `number:bytes:at_ms:progress`, for tasks with events, or with followers.

    A follower is a reader that waits for events. `number` is that of the last event of the task,
    over all its attempts; 0 if it has none yet, and a reader follows it. `bytes` is the size of its
    events. The last two are when the latest progress was stored (ms), and this progress as JSON;
    empty if there is none. An entry stays until its task is done, cancelled or purged; dead tasks
    keep it, and a replay continues the numbers.
    """
    return unit.key("progress")


def events(unit: Unit, task_id: str) -> str:
    """LIST of the newest events of a task, `number:at_ms:attempt:kind_and_json`; see below.

    The numbers have no gaps. The kind is `p` (from `progress`) or `e` (from `emit`). There are at
    most 1,000 events of at most 1 MiB. They are kept:

    - a week after the last event, if the task has not ended, or is dead;
    - for the `result_ttl` of a done task, and at least a minute;
    - ten minutes, as its status, if it was cancelled.

    Those of a purged task are deleted. If the purging client dies before, then they stay for that
    week. Without an entry in `progress`, a task that is in the queue has no events: the list is
    that of an earlier task with the same id.
    """
    return unit.key("events:") + task_id


def workers(unit: Unit) -> str:
    """HASH worker → JSON of what it serves, as in `WorkerStatus`; kept five minutes."""
    return unit.key("workers")


def seen(unit: Unit) -> str:
    """ZSET of workers, scored by their last heartbeat (ms); kept five minutes."""
    return unit.key("seen")


def schedules(unit: Unit) -> str:
    """HASH schedule → `d` (declared) or `s` (stored), and its definition; until it is removed."""
    return unit.key("schedules")


def schedule_times(unit: Unit) -> str:
    """ZSET of the schedules, scored by their next instant (ms); `inf` while one is paused."""
    return unit.key("schedule:times")


def schedule_state(unit: Unit) -> str:
    """HASH schedule → `revision:anchor:last:fired:missed:skipped:seen:id`; as long as the schedule.

    That of a declared schedule stays after its last instant, so that it does not fire again.
    `anchor` is the instant from which intervals count, `last` the last instant that was handled,
    `seen` when a worker last declared it: in ms, 0 for never. `id` is that of the last task.
    `revision` counts the changes of the definition. `fired`, `missed` and `skipped` count
    occurrences.
    """
    return unit.key("schedule:state")


def schedule_queues(unit: Unit) -> str:
    """HASH schedule → its queue, for the schedules of a namespace; until they are removed.

    That of a declared schedule stays after its last instant, as its `schedule_state` does.
    """
    return unit.key("queues")


def member_ends(unit: Unit) -> str:
    """LIST of `group name version state payload`: an entry for each new state of a member.

    Each entry stays until its group has counted it: a worker of the queue sends the entries to the
    groups (see `GroupRelay`). The fields are those of `group_ends`.
    """
    return unit.key("members:ended")


def relay(unit: Unit) -> str:
    """STRING name and number of the relay that works on `member_ends`; kept for some seconds."""
    return unit.key("members:relay")


def called(unit: Unit, task_id: str) -> str:
    """STRING that is empty: a group has enqueued the task; kept an hour after the group knows."""
    return unit.key("called:") + task_id


def group(unit: Unit) -> str:
    """HASH of the record of a group; kept until it expires, or for its `result_ttl` after its end.

    - `kind` (`group` or `chain`), `total`, `max_failures`, `queues` and `layout` of the members;
    - `state` of the members, and how many are `done`, `dead` and `cancelled`;
    - `then`, `failure`: the state of each callback: `waiting`, `due`, `called`, or how it ended;
    - `started`: how many members of a chain were enqueued; `closed`: all members were enqueued;
    - `parent`: if this group is a member of another one, the id of that group and its name there;
      `outcome`, `version` and `reported`: how this group ended for the parent, how often that has
      changed, and which change the parent knows;
    - `created_ms`, `ended_ms`, `until_ms`, `kept_ms`: instants, and the `result_ttl`.
    """
    return unit.key("group")


def group_ends(unit: Unit) -> str:
    """HASH name → `version state payload`, for members and callbacks; kept as long as the record.

    The name is the number of the member, `then` or `failure`. A later version replaces an earlier
    one. The payload of a done member is as in `result`; that of a dead one is its reason.
    """
    return unit.key("ends")


def calls(unit: Unit) -> str:
    """HASH name → JSON of what is enqueued later: callbacks, and the members of a chain.

    Each stays until it is enqueued, at most as long as the record.
    """
    return unit.key("calls")
