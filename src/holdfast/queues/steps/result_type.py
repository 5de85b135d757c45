"""Convert the results of step functions to JSON and back, by their annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ...core.codec import JSON, decoded, encoded
from ...errors import DecodeError, PayloadTooLarge
from ..argument_types import annotated_type, is_convertible, is_unread
from ..pydantic_types import PydanticType, uses_pydantic
from ..storable import hint_for, unstorable
from .interrupts import StepRefused, StepsChanged

_CACHED: Final = 1000

_types: dict[Callable[..., Any], ResultType] = {}


class ResultType:
    """Stores and reads the results of one function: of its annotated type, otherwise any JSON.

    Args:
        function: the function of a step.

    Raises:
        TypeError: its results cannot be stored.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._type = _annotated(function)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> ResultType:
        """Return the result type of *function*. Cache it if the function is defined in a module."""
        if not inspect.isfunction(function) or function.__closure__ is not None:
            return cls(function)
        found = _types.get(function)
        if found is None:
            found = cls(function)
            if len(_types) < _CACHED and "<" not in function.__qualname__:
                _types[function] = found
        return found

    def stored(self, result: Any, what: str) -> bytes:
        """Return *result* as JSON; *what* names it in errors.

        Raises:
            StepRefused: it cannot be stored, or is too large.
        """
        try:
            if isinstance(self._type, PydanticType):
                result = self._type.stored(result)
            return encoded(JSON, result, what)
        except PayloadTooLarge as error:
            raise StepRefused(str(error)) from error
        except Exception as error:
            text = str(error) if isinstance(error, TypeError) else f"{what}: {error}"
            raise StepRefused(text) from error

    def read(self, data: bytes, what: str) -> Any:
        """Return the result that is stored as *data*; *what* names it in errors.

        Raises:
            StepsChanged: it is not of this type.
        """
        try:
            if isinstance(self._type, PydanticType):
                return self._type.decoded(data)
            return decoded(JSON, data, self._type, what)
        except (DecodeError, ValueError) as error:
            raise ResultChanged(what, str(error)) from error


class ResultChanged(StepsChanged):
    """The stored result of a step is not of the type that its function is annotated with now."""

    def __init__(self, what: str, reason: str) -> None:
        text = f"{what} is stored in another form: {reason}; give the step another name for the "
        BaseException.__init__(self, text + "new form, or deploy code that reads the stored one")
        self.asked: tuple[str, ...] = ()
        self.stored: tuple[str, ...] = ()


def _annotated(function: Callable[..., Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):  # a builtin
        return Any
    kind = annotated_type(function, "return", annotation)
    if is_unread(kind):
        return Any
    name = getattr(function, "__qualname__", repr(function))
    if (cls := unstorable(kind)) is not None:
        text = f"the result of {name} is or contains a {cls.__qualname__}, which cannot be stored"
        raise TypeError(f"{text}: {hint_for(cls)}")
    if uses_pydantic(kind):
        return PydanticType(kind)
    try:
        return kind if is_convertible(kind) else Any
    except NameError:
        return Any
