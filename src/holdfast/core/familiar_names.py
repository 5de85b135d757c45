"""Raise helpful errors if users try names and options of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def no_attribute(owner: object, name: str, ours: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that *owner* does not have.

    Args:
        owner: the object.
        name: name of the attribute.
        ours: name in other libraries → what to use in Holdfast.
    """
    text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    return AttributeError(f"{text}: {ours[name]}" if name in ours else text, name=name, obj=owner)


def check_options(method: str, unknown: Mapping[str, Any], ours: Mapping[str, str]) -> None:
    """Raise TypeError if *method* was called with *unknown* options. *ours*: see `no_attribute`."""
    for name in unknown:
        text = f"{method}() has no option {name!r}"
        raise TypeError(f"{text}: {ours[name]}" if name in ours else text)
