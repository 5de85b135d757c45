"""Represent an action that an operator requests, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request

from ... import AsyncHoldfast
from ..audit_log import record
from ..problems import Problem
from ..request_parsing import JSON, decode_json, op_id, read_body
from .access import Visitor
from .form_encoding import MARK, decoded

FORM: Final = "application/x-www-form-urlencoded"

MAX_FIELDS: Final = 2000
"""Fields of one form at most."""

Fields = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Holds the result of an action.

    Attributes:
        text: a sentence for the operator about the result.
        changed: how many tasks, queues and so on were changed; 0 if there was nothing to do.
    """

    text: str
    changed: int = 1


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """Represents a request for an action.

    Attributes:
        hf: the client of the Valkey or Redis server.
        visitor: the operator who requests the action.
        fields: the fields of the form or JSON object: name → values.
        key: the idempotency key.
        from_page: whether the form of a page was sent. If so, the queue or cache that the form
            names must exist. A program that sends JSON may name one that does not exist yet.
    """

    hf: AsyncHoldfast
    visitor: Visitor
    fields: Fields
    key: str
    from_page: bool = False

    @property
    def op_id(self) -> str:
        """Return the operation id under which the action writes."""
        return op_id(self.visitor.name, self.key)

    def text(self, name: str) -> str:
        """Return the value of the field *name*, which must occur exactly once."""
        given = self.fields.get(name, ())
        if len(given) != 1:
            raise Problem("bad-request", f"send the field {name} once")
        return given[0]

    def texts(self, name: str) -> list[str]:
        """Return all values of the field *name*."""
        return list(self.fields.get(name, ()))

    def flag(self, name: str) -> bool:
        """Return whether the field *name* is present and not empty."""
        return any(self.fields.get(name, ()))


def record_action(visitor: Visitor, action: str, fields: Fields, outcome: str) -> None:
    """Write an action and its fields into the audit log."""
    target = {
        key: value[0] if len(value) == 1 else list(value)
        for key, value in fields.items()
        if key not in ("back", "key")
    }
    record(visitor.name, visitor.role, action, target, outcome)


async def read_fields(request: Request, limit: int) -> Fields:
    """Return the fields of a form, or of a JSON object of texts and lists of texts.

    Raises:
        Problem: the body is larger than *limit* bytes, malformed, or of another type.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (FORM, JSON):
        raise Problem("unknown-media", f"send a form ({FORM}), or {JSON}")
    data = await read_body(request, limit)
    if media == JSON:
        found: dict[str, Any] = decode_json(data, dict[str, str | list[str]])
        return {key: [value] if isinstance(value, str) else value for key, value in found.items()}
    try:
        given = parse_qs(
            data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Problem("bad-request", "the form is malformed") from None
    fields: dict[str, list[str]] = {}
    for name, texts in given.items():
        fields.setdefault(name.removesuffix(MARK), []).extend(decoded(name, t) for t in texts)
    return fields
