"""Every key of a counter: type, content and lifetime. All vanish when nobody adds any more."""

from __future__ import annotations

from ..core.names import Unit

KIND = "counter"


def definition(unit: Unit) -> str:
    """STRING `precisions keep`, as in `1,60,3600 120`; as long as the coarsest samples."""
    return unit.key("definition")


def chunk(unit: Unit, precision: int, parity: int) -> str:
    """HASH number of a bucket → count; a bucket is *precision* seconds long.

    *keep* buckets make a chunk. Even and odd chunks take turns: one expires when the one after its
    neighbour begins, so that at least *keep* buckets are there, and at most twice as many.
    """
    return unit.key(f"{precision}:{parity}")
