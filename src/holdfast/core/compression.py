"""Compress bytes with zlib or Zstandard, and unpack them up to a limit."""

from __future__ import annotations

import sys
import zlib
from contextlib import suppress
from typing import Any, Final, Literal, get_args

Compression = Literal["zlib", "zstd"]

LEVEL: Final = 1
"""Compression level: a fast one, because every large cached result and every chunk is
compressed."""

_MISSING: Final = (
    "this Python was built without Zstandard: use one that has the module `compression.zstd`"
    if sys.version_info >= (3, 14)
    else "Zstandard needs Python 3.14 or the extra: "
    "install `holdfast[zstd]` from where you got Holdfast"
)


def checked_compression(compress: Any) -> None:
    """Raise an error unless *compress* can be used in this process.

    Raises:
        ValueError: there is no such compression.
        ModuleNotFoundError: it needs a module that is not installed.
    """
    if compress not in (None, *get_args(Compression)):
        raise ValueError(f"compress must be 'zlib', 'zstd' or None, got {compress!r}")
    if compress == "zstd":
        zstd()


def compressed(data: bytes, how: Compression) -> bytes:
    """Return *data* compressed."""
    whole: bytes = zlib.compress(data, LEVEL) if how == "zlib" else zstd().compress(data, LEVEL)
    return whole


def unpacked(payload: bytes, how: Compression, limit: int) -> bytes:
    """Unpack a payload, but at most *limit* + 1 bytes, so that a small one cannot fill the memory.

    Raises:
        ValueError: *payload* is damaged.
        ModuleNotFoundError: see `zstd`.
    """
    opener: Any
    if how == "zlib":
        opener, problem = zlib.decompressobj(), zlib.error
    else:
        opener, problem = zstd().ZstdDecompressor(), zstd().ZstdError
    try:
        return bytes(opener.decompress(payload, limit + 1))
    except problem as error:
        raise ValueError(f"it cannot be unpacked: {error}") from None


def zstd() -> Any:
    """Return the Zstandard module of Python 3.14, or its backport.

    Raises:
        ModuleNotFoundError: neither is installed.
    """
    with suppress(ModuleNotFoundError):
        from compression import zstd as module

        return module
    try:
        from backports import zstd as module
    except ModuleNotFoundError:
        raise ModuleNotFoundError(_MISSING) from None
    return module
