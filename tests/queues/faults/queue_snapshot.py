"""The ids in the keys of a queue, read without its scripts."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import Self

import redis

from holdfast.core.names import Unit
from holdfast.queues import keys


@dataclass(frozen=True)
class QueueSnapshot:
    """The ids in every key of a queue at one moment.

    Attributes:
        bodies: all tasks.
        state: tasks that were claimed at least once.
        leases: running tasks.
        ready: tasks in a ready list.
        due: tasks in a due set.
        dead: dead tasks.
        expiring: queued tasks that expire.
        tombstones: cancelled tasks that are still in a ready list.
    """

    bodies: frozenset[bytes]
    state: frozenset[bytes]
    leases: tuple[bytes, ...]
    ready: tuple[bytes, ...]
    due: tuple[bytes, ...]
    dead: tuple[bytes, ...]
    expiring: frozenset[bytes] = frozenset()
    tombstones: frozenset[bytes] = frozenset()

    @classmethod
    def read(cls, client: redis.Redis | redis.RedisCluster, unit: Unit) -> Self:
        """Read all keys in one transaction."""
        with client.pipeline(transaction=True) as pipe:
            pipe.hkeys(keys.bodies(unit))
            pipe.hkeys(keys.state(unit))
            pipe.zrange(keys.leases(unit), 0, -1)
            pipe.zrange(keys.dead(unit), 0, -1)
            pipe.zrange(keys.expiring(unit), 0, -1)
            pipe.smembers(keys.tombstones(unit))
            for key in keys.ready(unit):
                pipe.lrange(key, 0, -1)
            for key in keys.due(unit):
                pipe.zrange(key, 0, -1)
            bodies, state, leases, dead, expiring, tombstones, *queued = pipe.execute()
        ready, due = chain(*queued[:3]), chain(*queued[3:])
        return cls(
            frozenset(bodies),
            frozenset(state),
            tuple(leases),
            tuple(ready),
            tuple(due),
            tuple(dead),
            frozenset(expiring),
            frozenset(tombstones),
        )

    @property
    def under_way(self) -> int:
        """Return the number of tasks that are not done and not dead."""
        return len(self.bodies) - len(self.dead)

    def check(self) -> None:
        """Check that each task is in exactly one key, and that no key has other ids.

        Raises:
            AssertionError: an id has no place, several places, or no task; it names the id.
        """
        queued = tuple(task for task in self.ready if task not in self.tombstones)
        found = Counter([*self.leases, *queued, *self.due, *self.dead])
        assert not self.bodies - found.keys(), f"nowhere: {self.bodies - found.keys()}"
        assert not found.keys() - self.bodies, f"no tasks: {found.keys() - self.bodies}"
        twice = {task: count for task, count in found.items() if count > 1}
        assert not twice, f"in several places: {twice}"
        assert not self.state - self.bodies, f"remembered: {self.state - self.bodies}"
        claimed = {*self.leases, *self.dead}
        assert not claimed - self.state, f"without a record: {claimed - self.state}"
        waiting = {*queued, *self.due}
        assert not self.expiring - waiting, f"expire, but do not wait: {self.expiring - waiting}"
        stray = self.tombstones - frozenset(self.ready)
        assert not stray, f"tombstones in no ready list: {stray}"


def let_leases_end(client: redis.Redis | redis.RedisCluster, unit: Unit) -> None:
    """End all leases of a queue now."""
    for task_id in client.zrange(keys.leases(unit), 0, -1):
        client.zadd(keys.leases(unit), {task_id: 1})
