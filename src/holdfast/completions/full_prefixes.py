"""Remember which prefixes many names begin with."""

from __future__ import annotations


class FullPrefixes:
    """Predicts whether as many names begin with a prefix as a search may return.

    Such a search needs only the names that begin with the prefix: one command instead of a script,
    which takes the server a third of the time. Fewer names begin with a longer prefix, so one
    length is remembered for each limit of searches. A wrong prediction costs a call.
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
