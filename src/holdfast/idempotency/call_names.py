"""Name the units of idempotent calls, and compute the digests of what the calls ask."""

from __future__ import annotations

import hashlib
from typing import Final

from ..core.names import Namespace, Unit
from . import keys

_DIGEST_BYTES: Final = 16


def call_unit(namespace: Namespace, store: str, user: str, key: str) -> Unit:
    """Return the unit of one call. Its name is the store, `/`, and a digest of *user* and *key*.

    In the name of the store, `~` becomes `~0` and `/` becomes `~1`, as in a JSON pointer. The
    digest has a fixed size, because clients choose the key.

    Raises:
        TypeError: *user* or *key* is not a str.
        ValueError: *key* is empty.
    """
    for what, value in (("a user", user), ("an idempotency key", key)):
        if not isinstance(value, str):
            raise TypeError(f"{what} must be a str, got {type(value).__name__} {value!r}")
    if not key:
        raise ValueError("an idempotency key must not be empty")
    escaped = store.replace("~", "~0").replace("/", "~1")
    owner = user.encode("utf-8", "surrogatepass")
    whole = b"%d:%b%b" % (len(owner), owner, key.encode("utf-8", "surrogatepass"))
    return namespace.unit(keys.CALL, f"{escaped}/{digest(whole).hex()}")


def fingerprint_digest(fingerprint: bytes | str) -> bytes:
    """Return the digest of a *fingerprint*, which describes what a call asks.

    Raises:
        TypeError: *fingerprint* is neither bytes nor a str.
    """
    if isinstance(fingerprint, str):
        return digest(fingerprint.encode("utf-8", "surrogatepass"))
    if not isinstance(fingerprint, bytes | bytearray | memoryview):
        got = f"{type(fingerprint).__name__} {fingerprint!r}"
        raise TypeError(f"a fingerprint must be bytes or a str, got {got}")
    return digest(fingerprint)


def digest(data: bytes | bytearray | memoryview) -> bytes:
    """Return the digest of *data* that the server stores: 16 bytes."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
