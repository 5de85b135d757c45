"""Define every key of a counter: type, content and lifetime.

All keys of a counter expire if no program adds to it any more.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "counter"


def definition(unit: Unit) -> str:
    """STRING `precisions keep`, as in `1,60,3600 120`; it expires with the coarsest samples."""
    return unit.key("definition")


def chunk(unit: Unit, precision: int, parity: int) -> str:
    """HASH number of a bucket → count; a bucket is *precision* seconds long.

    A chunk has *keep* buckets. Even and odd chunks alternate. A chunk expires when
    the second chunk after it begins, so at least *keep* and at most twice as many buckets are
    stored.
    """
    return unit.key(f"{precision}:{parity}")
