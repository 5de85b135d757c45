"""Which server a command talks to: `--url`, `HOLDFAST_URL` or `--embedded FOLDER`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .. import Holdfast, HoldfastError

Url = Annotated[
    str | None,
    typer.Option("--url", envvar="HOLDFAST_URL", help="redis://, rediss://, unix://, …"),
]
Embedded = Annotated[
    Path | None,
    typer.Option("--embedded", metavar="FOLDER", help="The bundled server of this folder."),
]
Namespace = Annotated[
    str, typer.Option("--namespace", envvar="HOLDFAST_NAMESPACE", help="Whose data.")
]


@contextmanager
def connected(url: str | None, embedded: Path | None, namespace: str) -> Iterator[Holdfast]:
    """A client for a command; its errors end the command with a sentence, not a traceback."""
    try:
        with _client(url, embedded, namespace) as hf:
            yield hf
    except HoldfastError as error:
        fail(str(error))


def fail(message: str, *, code: int = 1) -> NoReturn:
    """End the command: say why on standard error, and leave with *code*."""
    typer.secho(f"holdfast: {message}", fg="red", err=True)
    raise typer.Exit(code)


def _client(url: str | None, embedded: Path | None, namespace: str) -> Holdfast:
    if embedded is not None:
        return Holdfast.embedded(embedded, namespace=namespace)
    if url is None:
        fail("which server? Give --url, set HOLDFAST_URL, or use --embedded FOLDER", code=2)
    try:
        return Holdfast.from_url(url, namespace=namespace)
    except ValueError as error:
        fail(str(error), code=2)
