"""Note changes of keys on which values in memory depend, such as the epoch of a tag."""

from __future__ import annotations

from weakref import WeakValueDictionary

from ..concurrency.fork_hooks import register_after_fork
from ..concurrency.semaphore import Mutex


class Mark:
    """Whether one key has changed since a value that depends on it was read.

    Attributes:
        ended: whether the key has changed.
    """

    __slots__ = ("__weakref__", "ended")

    def __init__(self) -> None:
        self.ended: bool = False


class Marks:
    """One mark for each key on which values in memory depend. A million values may share a mark."""

    def __init__(self) -> None:
        self.after_fork()
        register_after_fork(self)

    def after_fork(self) -> None:
        """Forget all marks in a forked child."""
        self._guard = Mutex()
        self._marks: WeakValueDictionary[str, Mark] = WeakValueDictionary()

    def mark(self, key: str) -> Mark:
        """Return the mark of *key*, which ends when the key changes next."""
        with self._guard:
            mark = self._marks.get(key)
            if mark is None:
                mark = self._marks[key] = Mark()
            return mark

    def changed(self, key: str) -> None:
        """End the mark of *key*."""
        if self._marks:
            with self._guard:
                mark = self._marks.pop(key, None)
                if mark is not None:
                    mark.ended = True

    def guard_ended(self) -> None:
        """Do nothing: a value itself refers to the guards of the keys on which it depends."""
