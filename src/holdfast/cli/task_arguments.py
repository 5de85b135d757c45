"""Parse the arguments and headers of a task from a command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .connection import fail
from .exit_codes import WRONG_USAGE

_ARGUMENT_HINT: Final = "; positional arguments go to --args, JSON objects to --kwargs"


def keyword_arguments(pairs: Iterable[str], text: str | None) -> dict[str, Any]:
    """Return the keyword arguments in `ARG=VALUE` *pairs* and in *text*, a JSON object.

    If a VALUE is valid JSON, it is decoded; otherwise it is a text.
    """
    found: dict[str, Any] = {} if text is None else dict(_json(text, "--kwargs", dict))
    for name, value in _split(pairs, "ARG=VALUE", _ARGUMENT_HINT).items():
        if name in found:
            fail(f"argument {name!r} is given twice", code=WRONG_USAGE)
        found[name] = _value(value)
    return found


def positional_arguments(text: str | None) -> list[Any]:
    """Return the positional arguments in *text*, a JSON array."""
    return [] if text is None else list(_json(text, "--args", list))


def json_value(text: str, option: str) -> Any:
    """Return the JSON value in *text*. End the command if *text*, given by *option*, is no JSON."""
    try:
        return _loaded(text)
    except (ValueError, RecursionError) as error:
        fail(f"{option} is not JSON: {error}", code=WRONG_USAGE)


def headers_in(pairs: Iterable[str]) -> Mapping[str, str]:
    """Return the headers in `NAME=VALUE` *pairs*. Their values are texts."""
    return _split(pairs, "--header NAME=VALUE")


def _split(pairs: Iterable[str], what: str, hint: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            fail(f"expected {what}, got {pair!r}{hint}", code=WRONG_USAGE)
        if name in found:
            fail(f"{name!r} is given twice", code=WRONG_USAGE)
        found[name] = value
    return found


def _value(text: str) -> Any:
    try:
        return _loaded(text)
    except (ValueError, RecursionError):
        return text


def _json(text: str, option: str, kind: type) -> Any:
    value = json_value(text, option)
    if not isinstance(value, kind):
        wanted = "an object" if kind is dict else "an array"
        fail(f"{option} must be {wanted}, as in {json.dumps(kind())}", code=WRONG_USAGE)
    return value


def _loaded(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
