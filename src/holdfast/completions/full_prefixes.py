"""Remember which prefixes many names begin with."""

from __future__ import annotations


class FullPrefixes:
    """Predicts whether at least as many names begin with a prefix as a search may return.

    Then the search needs no later words of names: it is one command instead of a script, and takes
    the server a third of the time. A longer prefix has fewer names. So for each limit of searches,
    this only remembers up to which length of a prefix there were enough names. A wrong prediction
    costs one more call.
    """

    def __init__(self) -> None:
        self._longest: dict[int, int] = {}

    def is_likely(self, prefix: str, limit: int) -> bool:
        """Return whether at least *limit* names are likely to begin with *prefix*."""
        return len(prefix) <= self._longest.get(limit, -1)

    def note(self, prefix: str, limit: int, *, is_full: bool) -> None:
        """Note whether at least *limit* names begin with *prefix*."""
        length, longest = len(prefix), self._longest.get(limit, -1)
        self._longest[limit] = max(longest, length) if is_full else min(longest, length - 1)
