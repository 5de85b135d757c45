"""Hold the near caches of a client."""

from __future__ import annotations

from typing import Final

from ..names import Unit
from .cache import NearCache
from .marks import Marks
from .options import Near, checked_near
from .tracker import Tracker

MOST_CACHES: Final = 1000
"""Maximum number of near caches of a client. Each tracks keys with a prefix of its own, and the
server compares each key that changes with all prefixes."""


class NearCaches:
    """The near caches of a client, by unit.

    Args:
        tracker: reports changes.

    Attributes:
        tags: marks that end when a tag is invalidated. The near caches of all functions share them.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.tags: Marks = Marks()
        self._tracker = tracker
        self._caches: dict[Unit, NearCache] = {}

    def __bool__(self) -> bool:
        return bool(self._caches)

    def find(self, unit: Unit) -> NearCache | None:
        """Return the near cache of *unit*; None if there is none."""
        return self._caches.get(unit)

    def cache(self, unit: Unit, near: Near | bool | None) -> NearCache | None:
        """Return the near cache of *unit*, which all its users in this process share.

        Args:
            unit: the row cache, or the cached function.
            near: the options; None or False: return None. The latest options are used.

        Raises:
            ValueError: the client has `MOST_CACHES` near caches already.
        """
        options = checked_near(near)
        if options is None:
            return None
        cache = self._caches.get(unit)
        if cache is None:
            if len(self._caches) >= MOST_CACHES:
                raise ValueError(f"a client has at most {MOST_CACHES:,} near caches")
            return self._caches.setdefault(unit, NearCache(self._tracker, options))
        if cache.near != options:
            cache.resize(options)
        return cache
