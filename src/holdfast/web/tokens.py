"""Issue and check signed bearer tokens. Each names a user and expires; no server stores them."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec
from starlette.requests import HTTPConnection

from .revocation import Validity
from .secret_strength import LEAST_BITS, estimated_bits

if TYPE_CHECKING:
    from .. import AsyncTaskHandle, TaskHandle

LEAST_SECRET_BYTES: Final = 32

LONGEST_TOKEN: Final = 4096
LONGEST_LIFETIME_S: Final = 10 * 366 * 86_400.0

_VERSION: Final = "hf1"


class _Claims(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Holds the claims of a token.

    Attributes:
        key: the id of the secret that signs the token.
        ends_at: when the token expires, in seconds since 1970.
        user: the name of the user.
        issued_at: when the token was issued, in seconds since 1970; 0: not known.
        tasks: queue and id of each task that the user may follow.
    """

    key: str
    ends_at: float
    user: str
    issued_at: float = 0.0
    tasks: tuple[tuple[str, str], ...] = ()


_CLAIMS: Final = msgspec.json.Decoder(_Claims, strict=True)


class Tokens:
    """Issues and checks tokens of the form `hf1.CLAIMS.SIGNATURE`, in base64url.

    The claims are the id of the secret, the time at which the token expires (by the clock of the
    machine that checks it), the user, and the time at which it was issued. The signature is the
    HMAC-SHA256 of the claims.

    Args:
        secrets: random bytes, at least 32 in each secret. The first secret signs new tokens; all of
            them verify tokens. To replace a secret, add a new one in front, and remove the old one
            when its tokens have expired.
        audience: a name for the purpose of the tokens. Tokens with another audience are refused,
            even if they were signed with the same secret.
        clock: returns seconds since 1970.

    Raises:
        ValueError: there is no secret, or a secret is easy to guess: it is too short, or consists
            of repetitions, sequences or keyboard rows.
    """

    def __init__(
        self, *secrets: bytes, audience: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        if not secrets:
            raise ValueError("tokens need a secret")
        for secret in secrets:
            _check_secret(secret)
        self._keys = {_key_id(secret): secret for secret in secrets}
        self._signing = _key_id(secrets[0])
        self._label = f"holdfast token {audience}".strip() + "\0"
        self._clock = clock

    def issue(
        self,
        user: str,
        *,
        lifetime: float | timedelta = 86_400.0,
        tasks: Iterable[TaskHandle[Any] | AsyncTaskHandle[Any] | tuple[str, str]] = (),
    ) -> str:
        """Return a new token for *user*.

        Args:
            user: the name of the user.
            lifetime: seconds for which the token is valid.
            tasks: the tasks that the user may follow, with `/v1/tasks/QUEUE/ID/events`: handles, or
                the queue and the id of each.

        Raises:
            ValueError: the name is empty, the name and the tasks are too long for a token, or the
                lifetime is not above 0 s and at most ten years.
        """
        if not user:
            raise ValueError("a token needs a user")
        seconds = lifetime.total_seconds() if isinstance(lifetime, timedelta) else float(lifetime)
        if not 0 < seconds <= LONGEST_LIFETIME_S:
            raise ValueError(f"lifetime must be above 0 s and at most ten years, got {seconds} s")
        now = self._clock()
        facts: list[Any] = [self._signing, round(now + seconds, 3), user, round(now, 6)]
        if named := [_task(each) for each in tasks]:
            # Omitted if empty: gateways of earlier versions refuse tokens that have this claim.
            facts.append(named)
        claims = msgspec.json.encode(facts)
        signed = f"{_VERSION}.{_text(claims)}"
        token = f"{signed}.{_text(self._signature(self._signing, signed))}"
        if len(token) > LONGEST_TOKEN:
            many = f" and {len(named)} tasks are" if named else " is"
            raise ValueError(f"a user name of {len(user):,} characters{many} too long for a token")
        return token

    def user(self, token: str) -> str | None:
        """Return the user of *token*, or None if it is forged, expired or malformed."""
        claims = self._claims(token)
        return claims.user if claims is not None and self._clock() < claims.ends_at else None

    def validity(self, token: str) -> Validity | None:
        """Return how long *token* is valid, or None if it is forged."""
        claims = self._claims(token)
        if claims is None:
            return None
        left_s = claims.ends_at - self._clock()
        return Validity(claims.issued_at, claims.ends_at, left_s)

    def may_follow(self, token: str, queue: str, task_id: str) -> bool:
        """Return whether *token* is genuine, and names this task."""
        claims = self._claims(token)
        return claims is not None and (queue, task_id) in claims.tasks

    def _claims(self, token: str) -> _Claims | None:
        """Return the claims of *token*, or None if it is forged or malformed."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        signed, _, signature = token.rpartition(".")
        version, _, encoded = signed.partition(".")
        try:
            claims = _CLAIMS.decode(_bytes(encoded))
            given = _bytes(signature)
        except ValueError:  # not base64, or not valid claims
            return None
        if version != _VERSION or claims.key not in self._keys:
            return None
        genuine = hmac.compare_digest(self._signature(claims.key, signed), given)
        return claims if genuine else None

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        """Return the user of *token*, as `Authenticator` requires."""
        del connection
        return None if token is None else self.user(token)

    def _signature(self, key: str, signed: str) -> bytes:
        return hmac.digest(self._keys[key], f"{self._label}{signed}".encode(), "sha256")


def _task(given: TaskHandle[Any] | AsyncTaskHandle[Any] | tuple[str, str]) -> tuple[str, str]:
    """Return the queue and the id of a task."""
    queue, task_id = given if isinstance(given, tuple) else (given.queue, given.task_id)
    return queue, task_id


def _check_secret(secret: bytes) -> None:
    """Raise if *secret* is easy to guess. The error does not contain the secret."""
    if len(secret) < LEAST_SECRET_BYTES:
        raise ValueError(
            f"a secret of {len(secret)} bytes can be guessed: "
            f"it must have at least {LEAST_SECRET_BYTES}"
        )
    if estimated_bits(secret) < LEAST_BITS:
        raise ValueError(
            "a secret that consists of repetitions, sequences or keyboard rows can be guessed: "
            "it must be random, as those of `holdfast serve secret FILE`"
        )


def _key_id(secret: bytes) -> str:
    return hashlib.sha256(b"holdfast key id\0" + secret).hexdigest()[:8]


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    """Decode canonical base64url. Refuse other encodings, so that each token has only one text."""
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(data) != text:
        raise ValueError("not canonical base64url")
    return data


class Authenticator(Protocol):
    """Identifies the user of a request. `Tokens` implements this protocol."""

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        """Return the user who sent a request, or None if the request has no valid token.

        The gateway calls this for each request, and on a stream also for each frame, delivery and
        ping. It limits the failures of each address. If your authenticator checks passwords, limit
        the failures of each user there as well.

        Args:
            token: the token from the header `Authorization: Bearer …` or from the first frame of a
                stream; None: the request has no token.
            connection: the HTTP request or WebSocket, with its headers and cookies.
        """


@runtime_checkable
class TaskAuthenticator(Protocol):
    """Authenticates with tokens that name the tasks that a user may follow, as `Tokens` does."""

    def may_follow(self, token: str, queue: str, task_id: str) -> bool:
        """Return whether *token* is genuine, and names this task."""
