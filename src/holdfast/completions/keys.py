"""Define every key of a list of recent names, and of completions: type, content and lifetime."""

from __future__ import annotations

from ..core.names import Unit

RECENT = "recent"
COMPLETIONS = "completions"

KEPT_MS = 400 * 86_400 * 1000
"""Milliseconds after the last `touch` after which a list of recent names expires."""


def names(unit: Unit) -> str:
    """LIST of recent names, the latest first; it expires 400 days after the last touch."""
    return unit.key("names")


def limit(unit: Unit) -> str:
    """STRING number of recent names that are kept, if a client has set it; expires with `names`."""
    return unit.key("limit")


def index(unit: Unit) -> str:
    """ZSET of `kind key NUL name NUL id`, all with score 0, so sorted by bytes; it never expires.

    - Kind `0`: the key is the whole folded name.
    - Kind `1`: the key is the folded name from a later word on.
    """
    return unit.key("index")
