"""Where the tasks of a queue are, read from its keys and not by its scripts: `Places`."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import Self

import redis

from holdfast.core.names import Unit
from holdfast.queues import keys


@dataclass(frozen=True)
class Places:
    """The ids in every key of a queue, all of one moment.

    Attributes:
        bodies: every task there is.
        state: those that were claimed before.
        leases: those that run.
        ready: those in line.
        due: those that wait for their time.
        dead: those that were given up.
        expiring: those that wait, and not for ever.
        left_over: cancelled ones that still stand in line.
    """

    bodies: frozenset[bytes]
    state: frozenset[bytes]
    leases: tuple[bytes, ...]
    ready: tuple[bytes, ...]
    due: tuple[bytes, ...]
    dead: tuple[bytes, ...]
    expiring: frozenset[bytes] = frozenset()
    left_over: frozenset[bytes] = frozenset()

    @classmethod
    def read(cls, client: redis.Redis | redis.RedisCluster, unit: Unit) -> Self:
        """Read them in one transaction."""
        with client.pipeline(transaction=True) as pipe:
            pipe.hkeys(keys.bodies(unit))
            pipe.hkeys(keys.state(unit))
            pipe.zrange(keys.leases(unit), 0, -1)
            pipe.zrange(keys.dead(unit), 0, -1)
            pipe.zrange(keys.expiring(unit), 0, -1)
            pipe.smembers(keys.left_over(unit))
            for key in keys.ready(unit):
                pipe.lrange(key, 0, -1)
            for key in keys.due(unit):
                pipe.zrange(key, 0, -1)
            bodies, state, leases, dead, expiring, left_over, *lines = pipe.execute()
        ready, due = chain(*lines[:3]), chain(*lines[3:])
        return cls(
            frozenset(bodies),
            frozenset(state),
            tuple(leases),
            tuple(ready),
            tuple(due),
            tuple(dead),
            frozenset(expiring),
            frozenset(left_over),
        )

    @property
    def under_way(self) -> int:
        """How many tasks are neither done nor dead."""
        return len(self.bodies) - len(self.dead)

    def check(self) -> None:
        """Check that each task is in exactly one place, and nothing else is anywhere.

        Raises:
            AssertionError: tasks are nowhere, in two places, or no tasks; it names them.
        """
        in_line = tuple(task for task in self.ready if task not in self.left_over)
        found = Counter([*self.leases, *in_line, *self.due, *self.dead])
        assert not self.bodies - found.keys(), f"nowhere: {self.bodies - found.keys()}"
        assert not found.keys() - self.bodies, f"no tasks: {found.keys() - self.bodies}"
        twice = {task: count for task, count in found.items() if count > 1}
        assert not twice, f"in several places: {twice}"
        assert not self.state - self.bodies, f"remembered: {self.state - self.bodies}"
        claimed = {*self.leases, *self.dead}
        assert not claimed - self.state, f"claimed by nobody: {claimed - self.state}"
        waiting = {*in_line, *self.due}
        assert not self.expiring - waiting, f"expire, but do not wait: {self.expiring - waiting}"
        astray = self.left_over - frozenset(self.ready)
        assert not astray, f"left over, but not in line: {astray}"


def let_leases_end(client: redis.Redis | redis.RedisCluster, unit: Unit) -> None:
    """As if the time of all leases of a queue had passed."""
    for task_id in client.zrange(keys.leases(unit), 0, -1):
        client.zadd(keys.leases(unit), {task_id: 1})
