"""Turn the arguments of a cached function into the key and the tags of a call. No I/O."""

from __future__ import annotations

import hashlib
import inspect
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ..core.names import encode_name
from .arguments import NoCanonicalForm, canonical

MAX_TAGS: Final = 16
"""Maximum number of tags of one value. Each one costs a little at each read."""

_LONGEST: Final = 64
"""Length up to which the arguments themselves are in the key, so that operators can read them."""

_DIGEST_BYTES: Final = 20

Tags = Callable[..., Iterable[str]] | Iterable[str]


class CallSignature:
    """The parameters of a cached function, and how its calls become keys.

    Args:
        function: the function.
        name: its name, for errors.
        key: returns what identifies a call, from its arguments; None: all arguments do.
        ignore: names of parameters that do not identify a call.
        tags: returns the tags of a value, from the arguments; or the tags of all values.
        version: version of the function.

    Raises:
        TypeError: *ignore* or *tags* is not valid.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        key: Callable[..., Any] | None,
        ignore: Iterable[str],
        tags: Tags,
        version: int,
    ) -> None:
        self.name = name
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters
        self._ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
        if unknown := self._ignored - set(parameters):
            raise TypeError(f"ignore: {name} has no parameter {min(unknown)!r}")
        self._key = key
        self._tags = tags if callable(tags) else self._checked(tags)
        self._prefix = f"{version}:"
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        simple = all(each.kind in positional for each in parameters.values())
        self._arity = len(parameters) if simple else -1
        self._names = tuple(parameters)

    def text(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """Return the text that identifies a call: calls with equal arguments have equal texts.

        Raises:
            TypeError: the function has no such parameters, or an argument cannot be part of a key;
                the error names the parameter.
        """
        bound = self._bound(args, kwargs)
        if self._key is not None:
            whole = self._written("the result of key", self._key(*args, **kwargs))
        else:
            parts = [
                self._written(f"parameter {name!r}", value)
                for name, value in bound
                if name not in self._ignored
            ]
            whole = f"[{','.join(parts)}]"
        if len(whole) > _LONGEST or not whole.isascii():
            digest = hashlib.blake2b(whole.encode(), digest_size=_DIGEST_BYTES).digest()
            whole = f"#{urlsafe_b64encode(digest).rstrip(b'=').decode()}"
        return self._prefix + whole

    def tags(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the tags of a value, sorted.

        Raises:
            TypeError, ValueError: the function for *tags* returned other values.
        """
        if isinstance(self._tags, tuple):
            return self._tags
        return self._checked(self._tags(*args, **kwargs))

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """Return pairs of parameter and argument, in the order of the parameters."""
        if not kwargs and len(args) == self._arity:
            return zip(self._names, args, strict=True)
        try:
            found = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        found.apply_defaults()
        return found.arguments.items()

    def _written(self, what: str, value: Any) -> str:
        try:
            return canonical(value)
        except NoCanonicalForm as error:
            why = error.why or f"a {error.kind.__qualname__} has no canonical form"
        except (TypeError, ValueError, RecursionError) as error:
            why = str(error)
        raise TypeError(
            f"{what} of {self.name} cannot be part of a key: {why}; name it in ignore=, give key=, "
            "or define __cache_key__"
        )

    def _checked(self, tags: Any) -> tuple[str, ...]:
        if isinstance(tags, str) or not isinstance(tags, Iterable):
            raise TypeError(f"tags of {self.name} must be several strings, got {tags!r}")
        found = sorted(set(tags))
        for tag in found:
            encode_name(tag)
        if len(found) > MAX_TAGS:
            raise ValueError(f"{self.name}: at most {MAX_TAGS} tags per value, got {len(found)}")
        return tuple(found)


def check_returns(function: Callable[..., Any], name: str) -> None:
    """Raise TypeError if *function* yields values: a stored result is one value."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"cached function {name} yields values: let it return a list of them")


def name_of(function: Callable[..., Any], given: str | None) -> str:
    """Return the name of a cached function: *given*, or its module and qualified name.

    Raises:
        TypeError: the function has no name of its own, such as a lambda.
    """
    if given is not None:
        return given
    name: str = getattr(function, "__qualname__", "<unnamed>")
    if "<lambda>" in name or "<unnamed>" in name:
        raise TypeError("a function without a name of its own needs name=…")
    return f"{function.__module__}.{name}"
