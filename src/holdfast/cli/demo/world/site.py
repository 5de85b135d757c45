"""The dashboard of the world: `holdfast serve` in a process of its own, on the loopback."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Final, Self

from ..crew import Crew
from .ground import NAMESPACE, Ground

NAME: Final = "dashboard"
LINK: Final = re.compile(r"dashboard: (http\S+)")
START_S: Final = 60.0
PAUSE_S: Final = 0.05


class Site:
    """`with Site(ground) as site:` serves it. No secret is given, so it makes a pass itself.

    Args:
        ground: what is to be seen.
        port: where; 0 takes a free one.
    """

    def __init__(self, ground: Ground, *, port: int) -> None:
        command = ["holdfast", "serve", "--namespace", NAMESPACE, "--port", str(port)]
        self._crew = Crew(
            {NAME: command}, ground.environment(), ground.room(NAME), replaced_at_most=0
        )

    def __enter__(self) -> Self:
        self._crew.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._crew.__exit__(kind, error, traceback)

    @property
    def pids(self) -> dict[str, int]:
        """Its process, by its name."""
        return self._crew.pids

    def link(self) -> str:
        """A link that lets the one in who opens it; waits until it can be opened.

        Raises:
            WorkersFailed: it does not start.
            TimeoutError: likewise, and does not say why.
        """
        ends_s = time.monotonic() + START_S
        while time.monotonic() < ends_s:
            said = self._crew.log(NAME).read_text(encoding="utf-8", errors="replace")
            if found := LINK.search(said):
                return found[1]
            self._crew.mend()
            time.sleep(PAUSE_S)
        raise TimeoutError(f"the dashboard does not start: {said}")
