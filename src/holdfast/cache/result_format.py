"""Encode the results of a cached function, and decode them to the type of its annotation."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ..core.codec import JSON, MAX_PAYLOAD_BYTES, Codec, check_size, decoder, encoded
from ..core.compression import Compression, compressed, unpacked
from ..errors.one_line_logger import logger_of
from .replies import Loaded

logger: Final = logger_of("holdfast.cache")

ERROR: Final = 1
"""Flag of a stored exception."""

_HOW: Final[Mapping[Compression, int]] = {"zlib": 2, "zstd": 4}
"""Compression → flag of a result that is compressed in this way."""


class ResultFormat:
    """Encodes and decodes the results of one function.

    Args:
        function: the function; results are decoded as its return annotation says.
        name: its name, for errors.
        codec: encodes the results.
        compress: how results are compressed; None: not at all.
        over: size in bytes above which results are compressed.
        errors: classes of exceptions that are stored.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        codec: Codec,
        compress: Compression | None,
        over: int,
        errors: typing.Iterable[type[Exception]],
    ) -> None:
        self._function = function
        self._what = f"the result of {name}"
        self._codec = codec
        self._compress = compress
        self._over = over
        self._errors = {_name_of(kind): kind for kind in errors}
        self._decode: Callable[[bytes], Any] | None = None

    def encoded(self, value: Any) -> tuple[int, bytes]:
        """Return the flags and the body of a result.

        Raises:
            TypeError: the codec cannot store it.
            PayloadTooLarge: it takes over 1 MiB.
        """
        return self._compressed(encoded(self._codec, value, self._what))

    def encoded_error(self, error: Exception) -> tuple[int, bytes]:
        """Return the flags and the body of an exception: its class and its arguments.

        Raises:
            TypeError: JSON cannot store its arguments, or they do not make the same exception.
            PayloadTooLarge: they take over 1 MiB.
        """
        body = self._encoded_error(error)
        try:
            is_same = self._encoded_error(self._error(body)) == body
        except ValueError:
            is_same = False
        if not is_same:
            what = f"{type(error).__name__} cannot be built from its args {error.args!r}"
            raise TypeError(f"{what}: let __init__ pass its arguments on to Exception")
        flags, body = self._compressed(body)
        return flags | ERROR, body

    def stores(self, error: Exception) -> bool:
        """Return whether an exception of this class is stored. A subclass is another class."""
        return type(error) in self._errors.values()

    def loaded(self, body: bytes, flags: int) -> Loaded | None:
        """Return the result or the exception that is stored; None if it cannot be decoded.

        Log the problem. For example, another version of the program may have stored the result.
        """
        try:
            if flags:
                flags, body = self.unpacked(flags, body)
            if flags & ERROR:
                return Loaded(None, self._error(body))
            decode = self._decode
            if decode is None:
                decode = self._decode = decoder(self._codec, self._annotation())
            return Loaded(decode(body))
        except (ValueError, TypeError, ModuleNotFoundError, msgspec.MsgspecError) as error:
            logger.warning("%s that is stored cannot be decoded: %s", self._what, error)
            return None

    def unpacked(self, flags: int, body: bytes) -> tuple[int, bytes]:
        """Return the flags and the body of what is stored, without compression.

        Raises:
            ValueError: it cannot be decompressed, or takes over 1 MiB.
            ModuleNotFoundError: this needs an extra that is not installed.
        """
        for how, flag in _HOW.items():
            if flags & flag:
                body = unpacked(body, how, MAX_PAYLOAD_BYTES)
                check_size(body, self._what)
                flags -= flag
        return flags, body

    def _compressed(self, body: bytes) -> tuple[int, bytes]:
        if self._compress is not None and len(body) > self._over:
            smaller = compressed(body, self._compress)
            if len(smaller) < len(body):
                return _HOW[self._compress], smaller
        return 0, body

    def _annotation(self) -> Any:
        """Return the return annotation; Any if there is none, or if it cannot be resolved."""
        try:
            found = typing.get_type_hints(self._function, include_extras=True).get("return", Any)
            decoder(self._codec, found)
        except (NameError, TypeError, AttributeError):
            return Any
        return found

    def _encoded_error(self, error: Exception) -> bytes:
        kind = next(name for name, kind in self._errors.items() if type(error) is kind)
        return encoded(JSON, [kind, *error.args], self._what)

    def _error(self, body: bytes) -> Exception:
        name, *args = msgspec.json.decode(body, type=list[Any])
        kind = self._errors.get(name)
        if kind is None:
            raise ValueError(f"an exception of the class {name} is stored, which error_ttl misses")
        try:
            return kind(*args)
        except Exception as error:
            raise ValueError(f"its class cannot be called with its args: {error}") from error


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
