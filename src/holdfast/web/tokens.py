"""Bearer tokens: signed, bound to a user, valid for a time. Nothing about them is stored."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec
from starlette.requests import HTTPConnection

LEAST_SECRET_BYTES: Final = 32
LONGEST_TOKEN: Final = 4096
LONGEST_LIFETIME_S: Final = 10 * 366 * 86_400.0

_VERSION: Final = "hf1"
_CLAIMS: Final = msgspec.json.Decoder(tuple[str, float, str], strict=True)


class Tokens:
    """Makes tokens and checks them: `hf1.CLAIMS.SIGNATURE`, in base64url.

    The claims are the id of the key, the instant at which the token ends (seconds since 1970, by
    the clock of whoever checks it) and the user; the signature is their HMAC-SHA256.

    Args:
        secrets: at least 32 bytes each. The first one signs; all are accepted, so that a secret is
            replaced by putting a new one in front and dropping the old one later.
        audience: what the tokens are for. Those for one thing open nothing else, though the secrets
            be the same.
        clock: seconds since 1970.

    Raises:
        ValueError: there is no secret, or one is too short.
    """

    def __init__(
        self, *secrets: bytes, audience: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        if not secrets:
            raise ValueError("tokens need a secret")
        for secret in secrets:
            if len(secret) < LEAST_SECRET_BYTES:
                raise ValueError(
                    f"a secret of {len(secret)} bytes can be guessed: "
                    f"it must have at least {LEAST_SECRET_BYTES}"
                )
        self._keys = {_key_id(secret): secret for secret in secrets}
        self._signing = _key_id(secrets[0])
        self._label = f"holdfast token {audience}".strip() + "\0"
        self._clock = clock

    def issue(self, user: str, *, lifetime: float | timedelta = 86_400.0) -> str:
        """A token for *user*.

        Args:
            user: whom it lets in.
            lifetime: seconds for which it is valid.

        Raises:
            ValueError: the user is nobody, or the name too long for a token; or the lifetime is
                not above 0, or is above ten years.
        """
        if not user:
            raise ValueError("a token needs a user")
        seconds = lifetime.total_seconds() if isinstance(lifetime, timedelta) else float(lifetime)
        if not 0 < seconds <= LONGEST_LIFETIME_S:
            raise ValueError(f"lifetime must be above 0 s and at most ten years, got {seconds} s")
        claims = msgspec.json.encode((self._signing, round(self._clock() + seconds, 3), user))
        signed = f"{_VERSION}.{_text(claims)}"
        token = f"{signed}.{_text(self._signature(self._signing, signed))}"
        if len(token) > LONGEST_TOKEN:
            raise ValueError(f"a user name of {len(user):,} characters is too long for a token")
        return token

    def user(self, token: str) -> str | None:
        """Whose *token* this is; None if it is forged, over, or none at all."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        signed, _, signature = token.rpartition(".")
        version, _, claims = signed.partition(".")
        try:
            key, ends_at, user = _CLAIMS.decode(_bytes(claims))
            given = _bytes(signature)
        except ValueError:  # neither base64 nor claims
            return None
        if version != _VERSION or key not in self._keys:
            return None
        genuine = hmac.compare_digest(self._signature(key, signed), given)
        return user if genuine and self._clock() < ends_at else None

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        """As `Authenticator` has it."""
        del connection
        return None if token is None else self.user(token)

    def _signature(self, key: str, signed: str) -> bytes:
        return hmac.digest(self._keys[key], f"{self._label}{signed}".encode(), "sha256")


def _key_id(secret: bytes) -> str:
    return hashlib.sha256(b"holdfast key id\0" + secret).hexdigest()[:8]


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    """Of base64url, in its one canonical form: another text of the same bytes is no token."""
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(data) != text:
        raise ValueError("not canonical base64url")
    return data
