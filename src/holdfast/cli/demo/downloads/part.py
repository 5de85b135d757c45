"""The downloads as a part of the world: crawlers at a site that counts who comes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from ..crew import Crew
from ..examples import example_file, load_example
from ..world.ground import Ground
from ..world.part import Fault, Part, Verdict, until

NAMES: Final = ("crawlers-1", "crawlers-2")
CRAWLERS: Final = 3
"""In each process; so they are more than the site bears."""


class Crawlers(Part):
    """Crawlers at work for as long as the world lasts."""

    name: ClassVar = "downloads"

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self._example = load_example(example_file("downloads.py"))
        self._site: Any = self._example.Site()
        self._serving = threading.Thread(target=self._site.serve_forever, daemon=True)
        module = "holdfast.cli.demo.downloads.crawlers"
        command = [module, self._site.url, str(CRAWLERS)]
        self._crew = Crew(
            dict.fromkeys(NAMES, command), ground.environment(), ground.room("downloads")
        )

    def begin(self) -> None:
        """Open the site, and let them crawl."""
        self.opened.enter_context(self._site)
        self._serving.start()
        self.opened.callback(self._site.shutdown)
        self.opened.enter_context(self._crew)

    def look(self) -> None:
        """Replace who died."""
        self._crew.mend()

    def told(self) -> str:
        """What the site saw."""
        return f"{self._site.visits:,} downloads, {self._site.most} at once at most"

    def faults(self) -> Sequence[Fault]:
        """Who holds places is killed, and they are free after the lease."""
        return [Fault(NAMES[0], partial(self._crew.kill, NAMES[0]))]

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        return self._crew.pids

    def finish(self) -> Iterator[None]:
        """Let them go home, once there was somebody at all."""
        yield from until(lambda: self._site.visits > 0)
        self.end()

    def verdicts(self) -> Iterator[Verdict]:
        """From what the site saw itself."""
        yield not_too_many(self._site.visits, self._site.most, self._example.AT_ONCE)


def not_too_many(visits: int, most: int, limit: int) -> Verdict:
    """Whether a site saw no more visits at once than the semaphore allows."""
    problems = (f"there were {most} downloads at once",) if most > limit else ()
    return Verdict("semaphore", f"at most {limit} at once", visits, "downloads", problems)
