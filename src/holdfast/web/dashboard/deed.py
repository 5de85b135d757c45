"""One action that somebody asks for: its form, and what is said when it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request

from ... import AsyncHoldfast
from ..problems import Problem
from ..visit import JSON, body_of, decoded, op_id
from .access import Visitor
from .exact import MARK
from .exact import decoded as exactly

FORM: Final = "application/x-www-form-urlencoded"

MOST_FIELDS: Final = 2000

Fields = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Done:
    """What an action did.

    Attributes:
        said: in a sentence, for the one who asked for it.
        changed: how many things were changed; 0 when there was nothing to do.
    """

    said: str
    changed: int = 1


@dataclass(frozen=True, slots=True)
class Deed:
    """An action as somebody asks for it.

    Attributes:
        hf: where everything is.
        visitor: who asks.
        fields: what the form says.
        key: names this action, so that repeating it changes nothing.
        from_page: whether a form of a page asks for it. What that page shows must be there; a
            program may name what does not exist yet.
    """

    hf: AsyncHoldfast
    visitor: Visitor
    fields: Fields
    key: str
    from_page: bool = False

    @property
    def op_id(self) -> str:
        """The key, bound to the visitor: nobody can repeat what somebody else did."""
        return op_id(self.visitor.name, self.key)

    def text(self, name: str) -> str:
        """A field that must be there once."""
        given = self.fields.get(name, ())
        if len(given) != 1:
            raise Problem("bad-request", f"say {name} once")
        return given[0]

    def texts(self, name: str) -> list[str]:
        """A field that may be there several times."""
        return list(self.fields.get(name, ()))

    def flag(self, name: str) -> bool:
        """Whether a field is there and says something."""
        return any(self.fields.get(name, ()))


async def fields_of(request: Request, limit: int) -> Fields:
    """What a form says, or the JSON of a program: an object of texts and lists of texts."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (FORM, JSON):
        raise Problem("unknown-media", f"send a form ({FORM}), or {JSON}")
    data = await body_of(request, limit)
    if media == JSON:
        found: dict[str, Any] = decoded(data, dict[str, str | list[str]])
        return {key: [value] if isinstance(value, str) else value for key, value in found.items()}
    try:
        given = parse_qs(
            data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Problem("bad-request", "the form cannot be understood") from None
    fields: dict[str, list[str]] = {}
    for name, texts in given.items():
        fields.setdefault(name.removesuffix(MARK), []).extend(exactly(name, t) for t in texts)
    return fields
