"""Every key of a list of recent names, and of completions: type, content and lifetime."""

from __future__ import annotations

from ..core.names import Unit

RECENT = "recent"
COMPLETIONS = "completions"

KEPT_MS = 400 * 86_400 * 1000
"""A list of recent names expires after so long without a touch."""


def names(unit: Unit) -> str:
    """LIST of recent names, the latest first; it expires 400 days after the last touch."""
    return unit.key("names")


def limit(unit: Unit) -> str:
    """STRING how many recent names are kept, if a client has set it; it expires with `names`."""
    return unit.key("limit")


def index(unit: Unit) -> str:
    """ZSET of `kind key NUL name NUL id`, all with score 0: in the order of their bytes. It stays.

    Kind `0`: the key is the whole folded name; kind `1`: the folded name from a later word on.
    """
    return unit.key("index")
