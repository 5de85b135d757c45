"""`ArgumentTypes`: converts the arguments and the result of a task to JSON values and back."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, get_type_hints

import msgspec
import msgspec.inspect

from ..errors import DecodeError
from .pydantic_types import PydanticType, uses_pydantic
from .storable import hint_for, plain, unstorable

_UNREAD: Final = object()
"""A type that was not read yet, or cannot be read."""

_VALUE: Final = re.compile(
    r"""^(Invalid (?:enum )?value) (?:'.*'|".*"|-?\d+)(?= - at |$)""", re.DOTALL
)
"""Part of a msgspec error that quotes an argument. Arguments must not be logged."""

_RESULT: Final = "return"
_EMPTY: Final = inspect.Parameter.empty
_VAR_KEYWORD: Final = inspect.Parameter.VAR_KEYWORD
_POSITIONAL: Final = {
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
}


class ArgumentTypes:
    """The annotated types of a task.

    Types are read when the task is registered. Annotations that name a class which is defined later
    are read when the task is first called or run.

    Args:
        name: name of the task.
        function: function of the task.
        signature: signature of the function.
        result: whether results are kept.

    Attributes:
        complete: whether all types are read.
        models: the types of the parameters that pydantic converts, by name.

    Raises:
        TypeError: values of a parameter without a default, or results that are kept, cannot be
            stored.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signature: inspect.Signature,
        *,
        result: bool,
    ) -> None:
        self._name = name
        self._function = function
        self._signature = signature
        self._keeps_result = result
        self._types: dict[str, Any] = {}
        self.models: dict[str, PydanticType] = {}
        self._result: Any = Any
        self._needed = sum(each.default is _EMPTY for each in signature.parameters.values())
        self._by_count: Mapping[int, Any] = {}
        self.complete: bool = False
        self._read(last=False)

    @property
    def result(self) -> Any:
        """Return the type to which results are converted; Any if JSON cannot be converted to it."""
        self.check()
        return self._result

    def check(self) -> None:
        """Read the types that could not be read before.

        Raises:
            TypeError: values of one of them cannot be stored.
        """
        if not self.complete:
            self._read(last=True)

    def stored(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments for the encoder, with models of pydantic converted to JSON values.

        Raises:
            TypeError: pydantic cannot store one of them.
        """
        if not self.complete:
            self.check()
        if not self.models:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        for name, kind in self.models.items():
            if name in bound.arguments:
                what = f"argument {name!r} of task {self._name!r}"
                bound.arguments[name] = _stored(kind, bound.arguments[name], what)
        return bound.args, bound.kwargs

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by name as they are encoded, without those equal to their default.

        So the result does not depend on which arguments are passed by position, or omitted.
        """
        self.check()
        found: dict[str, Any] = {}
        for name, value in self._signature.bind(*args, **kwargs).arguments.items():
            parameter, kind = self._signature.parameters[name], self.models.get(name)
            if _is_default(value, parameter.default):
                continue
            if kind is not None:
                value = _stored(kind, value, f"argument {name!r} of task {self._name!r}")  # noqa: PLW2901
            found |= value if parameter.kind is _VAR_KEYWORD else {name: value}
        return found

    def named(
        self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """Return the arguments called *names* as they are encoded; an omitted one is its default.

        Raises:
            TypeError: There is no argument of such a name, or it cannot be stored.
        """
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            is_open = self._signature.parameters[name].kind is _VAR_KEYWORD
            found |= value if is_open else {name: value}
        missing = [name for name in names if name not in found]
        if missing:
            raise TypeError(f"task {self._name!r}: the call has no argument {missing[0]!r}")
        self.check()
        what = f"an argument of task {self._name!r}"
        return [
            _stored(kind, found[name], what) if (kind := self.models.get(name)) else found[name]
            for name in names
        ]

    def names(self) -> list[str] | None:
        """Return the names of the parameters; None if any name is allowed."""
        parameters = self._signature.parameters
        if any(each.kind is _VAR_KEYWORD for each in parameters.values()):
            return None
        return list(parameters)

    def stored_result(self, result: Any) -> Any:
        """Return a result as it is encoded; see `stored`."""
        if not isinstance(self.result, PydanticType):
            return result
        return _stored(self.result, result, f"the result of task {self._name!r}")

    def converted(
        self, args: list[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments from the wire, converted to the types in the signature.

        Raises:
            DecodeError: they do not fit.
        """
        what = f"the call of task {self._name!r}"
        if not self.complete:
            try:
                self._read(last=True)
            except TypeError as error:
                raise DecodeError(what, str(error)) from None
        if not kwargs and (kind := self._by_count.get(len(args))) is not None:
            # If this fails, the slower path below finds out which argument does not fit.
            with contextlib.suppress(TypeError, ValueError, RecursionError, SystemError):
                return msgspec.convert(args, kind, str_keys=True), {}
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise DecodeError(what, str(error)) from None
        for name, kind in self._types.items():
            if name in bound.arguments:
                bound.arguments[name] = self._argument(name, bound.arguments[name], kind)
        return bound.args, bound.kwargs

    def _argument(self, name: str, value: Any, kind: Any) -> Any:
        try:
            if isinstance(kind, PydanticType):
                return kind.read(value)
            return msgspec.convert(value, kind, str_keys=True)
        except (TypeError, ValueError, RecursionError) as error:
            what = f"argument {name!r} of task {self._name!r}"
            raise DecodeError(what, _VALUE.sub(r"\1", str(error))) from None
        except SystemError as error:  # msgspec 0.21 raises it if an int is too large for a float
            what = f"argument {name!r} of task {self._name!r}"
            raise DecodeError(what, str(error.__cause__ or error)) from None

    def _read(self, *, last: bool) -> None:
        """Read all types. Unless this is the *last* time, leave unreadable ones for later."""
        kinds = {}
        for name, each in self._signature.parameters.items():
            kind = _container(each, annotated_type(self._function, name, each.annotation))
            kinds[name] = self._kind(name, kind, needed=each.default is _EMPTY, last=last)
        returned = annotated_type(self._function, _RESULT, self._signature.return_annotation)
        kinds[_RESULT] = self._kind(_RESULT, returned, needed=self._keeps_result, last=last)
        if last:
            kinds = {name: Any if kind is _UNREAD else kind for name, kind in kinds.items()}
        complete = not any(kind is _UNREAD for kind in kinds.values())
        if complete:
            self._result = kinds.pop(_RESULT)
            self._types = {name: kind for name, kind in kinds.items() if kind is not Any}
            self.models = {
                name: kind for name, kind in kinds.items() if isinstance(kind, PydanticType)
            }
            self._by_count = self._positional()
        self.complete = complete  # Last, because other threads read the types once it is set.

    def _kind(self, name: str, kind: Any, *, needed: bool, last: bool) -> Any:
        """Return the type to which values of a parameter, or the results, are converted.

        It is Any if JSON cannot be converted to the annotation, and `_UNREAD` if the annotation
        names a class that is defined later.
        """
        if kind is _UNREAD:
            return kind
        if needed and (cls := unstorable(kind)) is not None:
            raise TypeError(self._refusal(name, kind, cls))
        try:
            if uses_pydantic(kind):
                return PydanticType(kind)
            return kind if is_convertible(kind) else Any
        except (NameError, TypeError) as error:
            if isinstance(error, NameError) and not (last and uses_pydantic(kind)):
                return _UNREAD
            text = str(error).split("\n")[0]
            raise TypeError(f"{self._place(name)} cannot be used: {text}") from None

    def _refusal(self, name: str, kind: Any, cls: type) -> str:
        relation = "is" if plain(kind) is cls else "contains"
        hint = hint_for(cls)
        if name == _RESULT:
            hint += "; if no caller reads results, register it with result_ttl=0"
        else:
            hint += "; if the task makes it itself, give the parameter a default"
        what = f"{self._place(name)} {relation} a {cls.__qualname__}"
        return f"{what}, which cannot be stored: {hint}"

    def _place(self, name: str) -> str:
        what = "the result" if name == _RESULT else f"parameter {name!r}"
        return f"task {self._name!r}: {what}"

    def _positional(self) -> Mapping[int, Any]:
        """Return number of positional arguments → tuple type of the arguments.

        Return an empty mapping if an argument cannot be positional, or msgspec cannot convert it.
        """
        parameters = self._signature.parameters
        if self.models or not {each.kind for each in parameters.values()} <= _POSITIONAL:
            return {}
        kinds = [self._types.get(name, Any) for name in parameters]
        counts = range(self._needed, len(kinds) + 1)
        return {count: tuple[*kinds[:count]] for count in counts}  # type: ignore[misc]


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except Exception:  # noqa: BLE001 (the comparison is code of the application)
        return False


def _stored(kind: PydanticType, value: Any, what: str) -> Any:
    try:
        return kind.stored(value)
    except ValueError as error:
        raise TypeError(f"{what} cannot be stored: {error}") from error


def annotated_type(function: Callable[..., Any], name: str, annotation: Any) -> Any:
    """Return the type of a parameter or of the result; `_UNREAD` if it cannot be read here.

    Each type is read by itself, so that one which cannot be imported does not affect the others.
    """
    if annotation is _EMPTY:
        return Any
    holder = SimpleNamespace(
        __annotations__={name: annotation},
        __globals__=getattr(inspect.unwrap(function), "__globals__", {}),
    )
    try:
        return get_type_hints(holder, include_extras=True)[name]
    except Exception:  # noqa: BLE001 (an annotation may be anything, and need not be a type)
        return _UNREAD


def is_unread(kind: Any) -> bool:
    """Return whether `annotated_type` could not read a type."""
    return kind is _UNREAD


def _container(parameter: inspect.Parameter, kind: Any) -> Any:
    """Return the type of the value that `Signature.bind` stores for *parameter*."""
    if kind is _UNREAD:
        return kind
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return tuple[kind, ...]
        case inspect.Parameter.VAR_KEYWORD:
            return dict[str, kind]
        case _:
            return kind


def is_convertible(kind: Any) -> bool:
    """Return whether JSON can be converted to this type. Other arguments stay JSON values.

    Raises:
        NameError: one of its fields names a class that is not defined yet.
    """
    try:
        return not _has_custom(msgspec.inspect.type_info(kind))
    except NameError:
        raise
    except Exception:  # noqa: BLE001 (whatever cannot be inspected cannot be converted)
        return False


def _has_custom(info: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Return whether *info* contains a type that msgspec does not know."""
    if isinstance(info, msgspec.inspect.CustomType):
        return True
    if isinstance(info, tuple):
        return any(_has_custom(part, seen) for part in info)
    if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
        return False
    seen |= {id(info)}
    return any(_has_custom(getattr(info, name), seen) for name in info.__struct_fields__)
