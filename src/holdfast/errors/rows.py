"""What can go wrong with cached rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import HoldfastError, shortened


class LoadFailed(HoldfastError):
    """Rows are not in the cache and could not be loaded, nor is there an older copy of them.

    Attributes:
        cache: the name of the cache.
        failures: id of each such row → why.
        rows: id → row, of the others that were asked for.
    """

    def __init__(
        self, cache: str, failures: Mapping[Any, str], rows: Mapping[Any, Any] | None = None
    ) -> None:
        row_id, why = next(iter(failures.items()))
        more = f" (and {len(failures) - 1:,} more)" if len(failures) > 1 else ""
        super().__init__(
            f"row {row_id!r}{more} of row cache {shortened(cache)} could not be loaded, and there "
            f"is no copy of it: {why}; look at explain({row_id!r}), or read again later"
        )
        self.cache = cache
        self.failures = dict(failures)
        self.rows = dict(rows or {})
