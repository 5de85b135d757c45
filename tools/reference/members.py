"""One class, function or property in Markdown: how it is called, and what its docstring says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import griffe
from griffe import DocstringSectionKind as Kind

HEADINGS = {
    Kind.parameters: "Arguments",
    Kind.attributes: "Fields",
    Kind.returns: "Returns",
    Kind.yields: "Yields",
    Kind.raises: "Raises",
}

_CONTEXT = "AbstractContextManager["


def signature(member: griffe.Object, *, called: str | None = None) -> str:
    """Return the signature as in a stub, without `self`; a constructor has its class's name."""
    if not isinstance(member, griffe.Function):
        return f"{member.name}: {getattr(member, 'annotation', None) or 'object'}"
    listed = ", ".join(_parameters(member))
    returned = str(member.returns) if member.returns else "None"
    if any(str(decorator.value).endswith("contextmanager") for decorator in member.decorators):
        returned = returned.replace("Iterator[", _CONTEXT, 1)
    if returned.startswith(_CONTEXT):
        returned = f"with … as {returned.removeprefix(_CONTEXT).removesuffix(']')}"
    return f"{called}({listed})" if called else f"{member.name}({listed}) -> {returned}"


def described(member: griffe.Object) -> list[str]:
    """Return the docstring of *member*, section by section."""
    if member.docstring is None:
        return []
    parts = []
    for section in member.docstring.parsed:
        if section.kind is Kind.text:
            parts.append(section.value)
        elif section.kind in HEADINGS:
            parts.append(f"{HEADINGS[section.kind]}:")
            parts.append("\n".join(_items(section)))
        else:
            raise ValueError(f"{member.path}: cannot show a section of kind {section.kind.value}")
    return parts


def _parameters(function: griffe.Function) -> Iterator[str]:
    by_name = False
    for parameter in function.parameters:
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not by_name:
            by_name = True
            yield "*"
        star = {"variadic positional": "*", "variadic keyword": "**"}
        text = star.get(parameter.kind.value if parameter.kind else "", "") + parameter.name
        by_name = by_name or text.startswith("*")
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None and not text.startswith("*"):
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        yield text


def _items(section: Any) -> Iterator[str]:
    """Yield a line for each argument, field or error."""
    for item in section.value:
        text = " ".join(item.description.split())
        if section.kind is Kind.raises:
            yield f"- `{item.annotation}`: {text}"
        elif section.kind in {Kind.returns, Kind.yields}:
            yield f"- {text}"
        elif section.kind is Kind.attributes and item.annotation:
            yield f"- `{item.name}: {item.annotation}`: {text}"
        else:
            yield f"- `{item.name}`: {text}"
