"""Which annotated types can be stored as JSON, and what to use in place of the others."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import io
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import IO, Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

_EXACT: Final = (
    *(str, int, float, bool, type(None), bytes, bytearray, memoryview),
    *(datetime, date, time, timedelta, Decimal, UUID),
)
"""Types that msgspec stores; it does not store their subclasses."""

_CONTAINERS: Final = (list, tuple, set, frozenset, dict)

_SUBCLASSED: Final = (*_CONTAINERS, enum.Enum, UUID, msgspec.Struct, msgspec.Raw)
"""Types that msgspec stores, and their subclasses."""

_HINTS: Final[tuple[tuple[tuple[Any, ...], str], ...]] = (
    ((PurePath,), "pass it as a str"),
    ((io.IOBase, IO), "pass the path, or the content as bytes"),
    ((Callable, type), "pass its name, and look it up in the task"),
    ((Iterator, Iterable), "pass a list"),
    ((complex,), "pass two floats"),
    ((enum.Enum,), "its values must be all texts, or all whole numbers"),
)

_HINT: Final = (
    "pass what it is made from, such as an id, or make it a dataclass, a msgspec.Struct or a "
    "pydantic model"
)

Seen = frozenset[Any]


def unstorable(kind: Any) -> type | None:
    """Return a class in *kind* that makes every value of *kind* unstorable; None: there is none.

    Classes of pydantic count as storable here: `pydantic_types` examines them.
    """
    try:
        return _unstorable(kind, frozenset())
    except Exception:  # noqa: BLE001 (an annotation may be anything, and need not be a type)
        return None


def hint_for(cls: type) -> str:
    """Return what to use in place of an unstorable class."""
    if _is_compound(cls):
        return "a key of an object is text in JSON: use an id, or pass a list of pairs"
    for base in _EXACT:
        if issubclass(cls, base):
            return f"use {base.__name__} itself"
    for bases, hint in _HINTS:
        if cls in bases or any(_is_subclass(cls, base) for base in bases):
            return hint
    return _HINT


def is_pydantic(cls: Any) -> bool:
    """Return whether a class is a model or a dataclass of pydantic, or one of its own types."""
    return isinstance(cls, type) and any(
        hasattr(cls, name) for name in ("__get_pydantic_core_schema__", "__pydantic_core_schema__")
    )


def plain(kind: Any) -> Any:
    """Return *kind* without its `Annotated`, its `NewType` or its name as a `type` alias."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif hasattr(kind, "__supertype__"):
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":
            kind = kind.__value__
        else:
            return kind


def parts_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of the items or fields of *kind*, which `plain` returned.

    Fields with types that cannot be read are left out.
    """
    if get_origin(kind) is Literal or kind is Any:
        return ()
    cls = get_origin(kind) or kind
    own = tuple(each for each in get_args(kind) if each is not Ellipsis)
    return (*own, *fields_of(cls).values()) if isinstance(cls, type) else own


def fields_of(cls: type) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass, a Struct, a TypedDict or a NamedTuple."""
    if dataclasses.is_dataclass(cls):
        names = [each.name for each in dataclasses.fields(cls)]
    elif issubclass(cls, msgspec.Struct):
        names = list(cls.__struct_fields__)
    elif typing.is_typeddict(cls):
        names = [*cls.__required_keys__, *cls.__optional_keys__]  # type: ignore[attr-defined]
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
    else:
        return {}
    try:
        hints = get_type_hints(cls)
    except Exception:  # noqa: BLE001 (an annotation may be anything, and need not be a type)
        return {}
    return {name: hints[name] for name in names if name in hints}


def _unstorable(kind: Any, seen: Seen) -> type | None:
    kind = plain(kind)
    cls = get_origin(kind) or kind
    if cls is Union or cls is types.UnionType:
        arms = [arm for arm in get_args(kind) if arm is not type(None)]
        found = [_unstorable(arm, seen) for arm in arms]
        return found[0] if all(found) else None
    if cls is Any or not isinstance(cls, type) or cls in seen or is_pydantic(cls):
        return None
    if not _may_be_stored(cls):
        return cls
    if issubclass(cls, Mapping) and (key := _compound_key(kind)) is not None:
        return key
    for part in parts_of(kind) if _has_parts(cls) else ():
        if found_in := _unstorable(part, seen | {cls}):
            return found_in
    return None


def _compound_key(kind: Any) -> type | None:
    """Return the class of the keys of a mapping type, if they have items or fields."""
    key = plain(next(iter(get_args(kind)), None))
    cls = get_origin(key) or key
    return cls if isinstance(cls, type) and _is_compound(cls) else None


def _is_compound(cls: type) -> bool:
    """Return whether an instance of *cls* has items or fields in JSON.

    Such classes can be stored, but not as the keys of a mapping.
    """
    if issubclass(cls, (*_CONTAINERS, msgspec.Struct)) or dataclasses.is_dataclass(cls):
        return True
    return hasattr(cls, "model_fields") and is_pydantic(cls)


def _has_parts(cls: type) -> bool:
    return (
        issubclass(cls, _CONTAINERS) or bool(fields_of(cls)) or cls.__module__ == "collections.abc"
    )


def _may_be_stored(cls: type) -> bool:
    """Return whether an instance of *cls* may be something that msgspec stores and reads."""
    if issubclass(cls, enum.Enum):  # msgspec reads no others
        kinds = {type(each.value) for each in cls}
        return kinds <= {int} or kinds <= {str}
    if cls in _EXACT or issubclass(cls, _SUBCLASSED) or dataclasses.is_dataclass(cls):
        return True
    if inspect.isabstract(cls) and cls.__module__ not in ("collections.abc", "typing"):
        return True  # a subclass may be a dataclass
    if hasattr(cls, "__attrs_attrs__"):
        return True
    return any(_is_subclass(each, cls) for each in (*_EXACT, *_CONTAINERS))


def _is_subclass(cls: type, base: Any) -> bool:
    try:
        return issubclass(cls, base)
    except TypeError:  # a protocol that cannot be checked
        return True
