"""The server of a demo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ... import HoldfastError
from ..connection import fail

if TYPE_CHECKING:
    from ...server import EmbeddedServer


@contextmanager
def own_server(folder: Path | None = None) -> Iterator[EmbeddedServer]:
    """The server of *folder*; without one, a server that is gone afterwards.

    Raises:
        typer.Exit: it does not start; that was said.
    """
    from ...server import EmbeddedServer

    try:
        server = EmbeddedServer.open(folder)
    except HoldfastError as error:
        fail(str(error))
    with server:
        yield server
