"""The dashboard of the world: `holdfast serve` in a process of its own, on the loopback."""

from __future__ import annotations

import re
import time
from typing import Final

from ..crew import Crew
from .ground import NAMESPACE, Ground

NAME: Final = "dashboard"
LINK: Final = re.compile(r"dashboard: (http\S+)")
START_S: Final = 60.0
PAUSE_S: Final = 0.05


class Site(Crew):
    """`with Site(ground, port=0) as site:` serves it.

    No secret is given, so it makes a pass itself.

    Args:
        ground: what is to be seen.
        port: where; 0 takes a free one.
    """

    def __init__(self, ground: Ground, *, port: int) -> None:
        command = ["holdfast", "serve", "--namespace", NAMESPACE, "--port", str(port)]
        super().__init__(
            {NAME: command}, ground.environment(), ground.room(NAME), replaced_at_most=0
        )

    def link(self) -> str:
        """A link that lets the one in who opens it; waits until it can be opened.

        Raises:
            WorkersFailed: it does not start.
            TimeoutError: likewise, and does not say why.
        """
        ends_s = time.monotonic() + START_S
        while time.monotonic() < ends_s:
            said = self.log(NAME).read_text(encoding="utf-8", errors="replace")
            if found := LINK.search(said):
                return found[1]
            self.mend()
            time.sleep(PAUSE_S)
        raise TimeoutError(f"the dashboard does not start: {said}")
