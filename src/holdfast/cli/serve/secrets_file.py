"""Read, write and use the secret that signs tokens."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..connection import argument_errors, fail
from ..exit_codes import WRONG_USAGE
from ..options import option

if TYPE_CHECKING:
    from ...web import Passes, Tokens

VARIABLE: Final = "HOLDFAST_SECRET"

HOW: Final = "make one: holdfast serve secret FILE"

OTHERS: Final = 0o077
"""Permission bits of the group and of all others."""

SecretFile = Annotated[
    Path | None,
    option(
        "FILE",
        f"The secret that signs tokens: a line of 32 bytes or more. Or set {VARIABLE}.",
        envvar="HOLDFAST_SECRET_FILE",
    ),
]
Secret = Annotated[str | None, typer.Option(envvar=VARIABLE, hidden=True)]


def read_secrets(file: Path | None, variable: str | None) -> list[bytes]:
    """Return the secrets in *file*, one per line, the newest first, or the one in *variable*."""
    if file is None:
        return [os.fsencode(variable)] if variable else []
    try:
        lines = _private_text(file).split("\n")
    except UnicodeDecodeError:
        fail(f"the secret in {str(file)!r} must be text; {HOW}", code=WRONG_USAGE)
    except OSError as error:
        fail(f"the secret in {str(file)!r} cannot be read: {error.strerror}", code=WRONG_USAGE)
    found = [line.strip().encode() for line in lines if line.strip()]
    if not found:
        fail(f"{str(file)!r} holds no secret; {HOW}", code=WRONG_USAGE)
    return found


def _private_text(file: Path) -> str:
    """Return the text of *file*. End the command if other users may read or change the file."""
    with file.open(encoding="utf-8") as opened:
        status = os.fstat(opened.fileno())
        if status.st_mode & OTHERS or status.st_uid not in (0, os.geteuid()):
            fail(
                f"other users can read or change the secret in {str(file)!r}: make it your own "
                f"(chmod 600, chown) and replace the secret; {HOW}",
                code=WRONG_USAGE,
            )
        return opened.read()


def write_secret(file: Path) -> None:
    """Write a new secret into *file*, which must not exist, for this user only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="ascii") as opened:
            os.fchmod(opened.fileno(), 0o600)  # the umask may have removed permissions
            opened.write(secrets.token_hex() + "\n")
    except OSError as error:
        fail(f"the secret cannot be written to {str(file)!r}: {error.strerror}")


def make_tokens(kept: list[bytes]) -> Tokens:
    """Return a `Tokens`. End the command if a secret is weak or the extra is not installed."""
    with argument_errors(f"; {HOW}"):
        from ...web import Tokens

        return Tokens(*kept)


def make_passes(kept: list[bytes]) -> Passes:
    """Return a `Passes`. End the command as `make_tokens` does."""
    make_tokens(kept)
    from ...web import Passes

    return Passes(*kept)


def make_token_text(tokens: Tokens, user: str, lifetime_s: float) -> str:
    """Return a token for *user*, or end the command."""
    with argument_errors():
        return tokens.issue(user, lifetime=lifetime_s)


def make_pass_text(passes: Passes, name: str, role: str, lifetime_s: float) -> str:
    """Return a pass for *name*, or end the command."""
    with argument_errors():
        return passes.issue(name, role, lifetime=lifetime_s)  # type: ignore[arg-type]
