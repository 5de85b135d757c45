"""Every key of a list of recent names, and of completions: type, content and lifetime."""

from __future__ import annotations

from ..core.names import Unit

RECENT = "recent"
COMPLETIONS = "completions"

KEPT_MS = 400 * 86_400 * 1000
"""Recent names that nobody touched for so long are forgotten."""


def names(unit: Unit) -> str:
    """LIST of recent names, the latest first; 400 days from the last touch on."""
    return unit.key("names")


def limit(unit: Unit) -> str:
    """STRING of how many recent names are kept, when somebody has said; as long as they are."""
    return unit.key("limit")


def index(unit: Unit) -> str:
    """ZSET of `kind key NUL name NUL id`, all of score 0, so in the order of their bytes. It stays.

    Kind `0`: the key is the whole name, folded; kind `1`: its rest from a later word on.
    """
    return unit.key("index")
