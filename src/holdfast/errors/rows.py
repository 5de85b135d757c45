"""Errors of cached rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import HoldfastError, shortened


class LoadFailed(HoldfastError):
    """Rows could not be loaded from their source, and the cache has no older copy of them.

    Attributes:
        cache: name of the row cache.
        failures: id of each such row → why it could not be loaded.
        rows: id → row, for the other rows of the call.
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
        self.failures: dict[Any, str] = dict(failures)
        self.rows: dict[Any, Any] = dict(rows or {})
