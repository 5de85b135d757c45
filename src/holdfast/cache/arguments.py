"""Write the arguments of a call as canonical JSON: different arguments give different texts.

Each type has its own form, so `1`, `"1"`, `1.0` and `True` differ, and a list differs from a tuple.
Sets and dicts are sorted, so their order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

import msgspec

MAX_DEPTH: Final = 64
"""Maximum depth of nested arguments."""

_json: Final = msgspec.json.Encoder().encode

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)

_PLAIN: Final[Mapping[type, Callable[[Any], str]]] = {
    str: lambda value: value,
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    timedelta: lambda value: f"{value.days} {value.seconds} {value.microseconds}",
    Decimal: str,
    UUID: str,
}
"""Type → a function that returns the text of a value. Different values have different texts."""

_BASES: Final[Mapping[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}
"""Type → a function that returns the plain value of an object of a subclass, such as a string that
is marked as safe."""


class NoCanonicalForm(Exception):
    """An argument contains a value that has no canonical form.

    Attributes:
        kind: type of the value.
        why: the reason, if it is not the type.
    """

    def __init__(self, kind: type, why: str = "") -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


def canonical(value: Any, depth: int = 0) -> str:
    """Return *value* as canonical JSON.

    Raises:
        NoCanonicalForm: it contains a value of a type that has no canonical form.
    """
    kind = type(value)
    if kind is str:
        return _text(value)
    if value is None or kind is bool or kind is int:
        return "null" if value is None else str(value).lower()
    if kind is float:
        return repr(value) if math.isfinite(value) else _tagged("float", _text(repr(value)))
    if depth > MAX_DEPTH:
        raise NoCanonicalForm(kind, f"it is nested deeper than {MAX_DEPTH} levels")
    if kind in _CONTAINERS:
        return _container(value, kind, depth + 1)
    if kind in _PLAIN:
        return _tagged(kind.__name__, _text(_PLAIN[kind](value)))
    return _object(value, kind, depth + 1)


def _container(value: Any, kind: type, depth: int) -> str:
    if kind is list:
        return _list(value, depth)
    if kind is tuple:
        return _tagged("tuple", _list(value, depth))
    if kind is dict:
        return _tagged("dict", _dict(value, depth))
    return _tagged(kind.__name__, f"[{','.join(sorted(canonical(each, depth) for each in value))}]")


def _object(value: Any, kind: type, depth: int) -> str:
    """Return the canonical JSON of an object of any other class, tagged with the class."""
    name = _name_of(kind)
    own = getattr(kind, "__cache_key__", None)
    fields_of_it = None if own is not None else _fields(value, kind)
    if own is not None:
        text = canonical(own(value), depth)
    elif isinstance(value, type):
        name, text = "type", _text(_name_of(value))
    elif isinstance(value, Enum):
        text = _text(value.name) if value.name else canonical(value.value, depth)
    elif isinstance(value, PurePath):
        name, text = "path", _text(str(value))
    elif fields_of_it is not None:
        text = _dict(fields_of_it, depth)
    elif isinstance(value, tuple):  # a named tuple
        text = _list(value, depth)
    else:
        for base, plain in _BASES.items():
            if isinstance(value, base):
                return canonical(plain(value), depth)
        raise NoCanonicalForm(kind)
    return _tagged(name, text)


def _fields(value: Any, kind: type) -> Mapping[str, Any] | None:
    """Return the fields of a model of pydantic, a Struct or a dataclass; otherwise None."""
    if isinstance(value, type):
        return None
    if hasattr(kind, "__pydantic_fields__") and hasattr(kind, "model_dump"):
        return {**vars(value), **(value.__pydantic_extra__ or {})}
    if isinstance(value, msgspec.Struct):
        return {field: getattr(value, field) for field in value.__struct_fields__}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return None


def _list(values: Iterable[Any], depth: int) -> str:
    return f"[{','.join([canonical(each, depth) for each in values])}]"


def _dict(values: Mapping[Any, Any], depth: int) -> str:
    pairs = sorted((canonical(k, depth), canonical(v, depth)) for k, v in values.items())
    return f"[{','.join([f'[{key},{value}]' for key, value in pairs])}]"


def _tagged(name: str, text: str) -> str:
    return f"{{{_text(name)}:{text}}}"


def _text(value: str) -> str:
    try:
        return _json(value).decode()
    except UnicodeEncodeError as error:
        raise NoCanonicalForm(str, f"it is not valid Unicode at position {error.start}") from None


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
