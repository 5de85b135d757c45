"""Types of pydantic as arguments and results. Pydantic is imported only if a task uses it."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final, get_args, get_origin

from ..core.codec import JSON
from .storable import is_pydantic, parts_of, plain

NEEDED: Final = (2, 11)
"""Version of pydantic from which on field names can be used in place of aliases."""

_SHOWN: Final = 3
"""Problems of an argument that its error names."""


class PydanticType:
    """Stores and reads values of one type, by a `pydantic.TypeAdapter`.

    Values are stored as JSON with the names of fields; aliases are read as well.

    Args:
        kind: a type for which `uses_pydantic` returns True.

    Raises:
        NameError: *kind* refers to a class that is not defined yet.
        TypeError: pydantic cannot handle *kind*.
    """

    def __init__(self, kind: Any) -> None:
        import pydantic

        if _version(pydantic.VERSION) < NEEDED:
            raise TypeError(f"pydantic {pydantic.VERSION} is too old, 2.11 is needed")
        if masked := _masked(kind, frozenset()):
            raise TypeError(
                f"pydantic stores a {masked.__name__} masked: use str or bytes, or a serializer"
            )
        config = pydantic.ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
        try:
            try:
                self._adapter: Any = pydantic.TypeAdapter(kind, config=config)
            except pydantic.PydanticUserError as error:
                # Pydantic accepts no config for a type that has its own, such as a model.
                if error.code != "type-adapter-config-unused":
                    raise
                self._adapter = pydantic.TypeAdapter(kind)
            self._adapter.rebuild(raise_errors=True)
        except pydantic.PydanticUserError as error:
            if error.code == "class-not-fully-defined":
                raise NameError(error.message) from None
            raise TypeError(error.message.split("\n")[0]) from None

    def stored(self, value: Any) -> Any:
        """Return *value* as JSON values.

        Raises:
            ValueError: pydantic cannot store it.
        """
        return self._adapter.dump_python(
            value, mode="json", by_alias=False, round_trip=True, warnings=False
        )

    def read(self, value: Any) -> Any:
        """Return the value from the JSON value that `stored` returned.

        Raises:
            ValueError: the JSON value is not of this type.
        """
        return self.decoded(JSON.encode(value))

    def decoded(self, data: bytes) -> Any:
        """Return the value of JSON; see `read`."""
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(data, by_alias=True, by_name=True)
        except ValidationError as error:
            raise ValueError(_described(error)) from None


def uses_pydantic(kind: Any) -> bool:
    """Return whether *kind* is or contains a type of pydantic."""
    return "pydantic" in sys.modules and _uses(kind, frozenset())


def _uses(kind: Any, seen: frozenset[Any]) -> bool:
    if get_origin(kind) is Annotated and any(map(_is_metadata, get_args(kind)[1:])):
        return True
    kind = plain(kind)
    if is_pydantic(get_origin(kind) or kind):
        return True
    try:
        if kind in seen:
            return False
        seen |= {kind}
    except TypeError:  # it cannot be hashed
        return False
    return any(_uses(part, seen) for part in parts_of(kind))


def _is_metadata(part: Any) -> bool:
    return type(part).__module__.partition(".")[0] == "pydantic"


def _masked(kind: Any, seen: frozenset[Any]) -> type | None:
    """Return the type in *kind* that pydantic stores as asterisks; None if there is none."""
    import pydantic

    kind = plain(kind)
    cls = get_origin(kind) or kind
    if isinstance(cls, type) and issubclass(cls, pydantic.SecretStr | pydantic.SecretBytes):
        return cls
    parts = parts_of(kind)
    if is_pydantic(cls):
        if cls in seen:
            return None
        seen |= {cls}
        parts = (*get_args(kind), *_fields_as_they_are(cls))
    for part in parts:
        if found := _masked(part, seen):
            return found
    return None


def _fields_as_they_are(cls: Any) -> list[Any]:
    """Return the types of the fields of a model that have no serializer of the user."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    if decorators is None or decorators.model_serializers:
        return []
    by_user = {name for each in decorators.field_serializers.values() for name in each.info.fields}
    fields = getattr(cls, "__pydantic_fields__", {})
    return [each.annotation for name, each in fields.items() if name not in by_user]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _described(error: Any) -> str:
    """Return the problems that pydantic found. The values stay out: they must not be logged."""
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    shown = [_line(each) for each in problems[:_SHOWN]]
    more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    return "; ".join([*shown, *more])


def _line(problem: Any) -> str:
    path = ".".join(map(str, problem["loc"]))
    return f"{problem['msg']} - at `{path}`" if path else str(problem["msg"])
