"""Define the version of the layout: how keys are named, and in which form values are stored.

A namespace stores the version of the layout in which its data are written, so that an older client
does not misread them. `docs/versions.md` says when the version changes, and what clients do then.
"""

from __future__ import annotations

from typing import Final

from ..errors import DamagedData, UnsupportedLayout
from .names import Namespace, Unit

VERSION: Final = 1
"""The layout that this program writes: that of `docs/keys.md` and `docs/wire.md`.
`tests/project/layout-1.json` has a frozen copy."""

OLDEST: Final = 1
"""The oldest layout that this program can read."""

KIND: Final = "layout"


def unit_of(namespace: Namespace) -> Unit:
    """Return the unit that has the version of *namespace*."""
    return namespace.unit(KIND, "")


def version(unit: Unit) -> str:
    """STRING of the layout's version; the first write of a client stores it. It never expires."""
    return unit.key("version")


def parsed(stored: bytes | None, namespace: Namespace, action: str) -> int | None:
    """Return the version that *namespace* stores; None if it stores none.

    Raises:
        DamagedData: another program has changed it. The error names the *action*.
    """
    if stored is None:
        return None
    if not stored.isdigit() or not 1 <= len(stored) <= 9 or stored.startswith(b"0"):
        what = f"the layout version of namespace {namespace.name!r}"
        raise DamagedData(action, what, f"{version(unit_of(namespace))} is not a version")
    return int(stored)


def check(stored: int | None, namespace: Namespace, action: str, *, reading: bool = False) -> None:
    """Raise `UnsupportedLayout` if this program cannot read the layout *stored* by *namespace*.

    Args:
        stored: the version; None: none is stored yet.
        namespace: the namespace.
        action: the call, for the error.
        reading: whether the call changes nothing.
    """
    if stored is not None and not OLDEST <= stored <= VERSION:
        raise UnsupportedLayout(
            action, namespace.name, stored, oldest=OLDEST, newest=VERSION, harmless=reading
        )
