"""Processes of two versions on one server: `MixedFleet`."""

from collections import Counter
from contextlib import ExitStack
from typing import Any, Self

from faults.former_version import FormerVersion
from faults.nursery import ForkServer


class MixedFleet(ForkServer):
    """A fork server for the present version, and one for a former version.

    Every other new process is of the former version. So an actor that is killed and started again
    may change its version, as in an upgrade and in its roll-back.

    Args:
        modules: what both nurseries import before they have children.
        former: the former version.

    Attributes:
        lives: number of processes of each version so far.
    """

    def __init__(self, *modules: str, former: FormerVersion) -> None:
        super().__init__(*modules)
        self.former = ForkServer(*modules, env=former.env)
        self.lives: Counter[str] = Counter()
        self._former_pids: set[int] = set()
        self._former_next = True

    @property
    def output(self) -> str:
        """Return what the processes of both versions printed."""
        return super().output + self.former.output

    def request(self, verb: str, pid: int = 0, **order: Any) -> Any:
        """Send a command to the fork server of the process. Return its answer."""
        if verb != "fork":
            where = self.former.request if pid in self._former_pids else super().request
            return where(verb, pid=pid, **order)
        is_former, self._former_next = self._former_next, not self._former_next
        self.lives["former" if is_former else "present"] += 1
        born: int = (self.former.request if is_former else super().request)(verb, **order)
        self._former_pids.discard(born)  # the system may use a number again
        if is_former:
            self._former_pids.add(born)
        return born

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            super().__enter__()
            stack.push(super().__exit__)
            self.former.__enter__()
            stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self.former.__exit__(*error)
        super().__exit__(*error)
