"""The command `holdfast top`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import AsyncHoldfast, HoldfastError
from ..address import server_name
from ..connection import Embedded, Namespace, Url, client, errors_told, reason
from ..help import Commands
from ..output import UNFOLDED, AsJson, columns, console, show, show_json
from .picture import Picture, plain
from .survey import Survey
from .watch import Watch, until_signalled

if TYPE_CHECKING:
    from .frame import Frame

app = Commands()


@app.command()
def top(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    every: Annotated[
        float,
        typer.Option(
            "--every",
            metavar="SECONDS",
            min=0.2,
            max=3600.0,
            help="Between two looks, 0.2 to 3600.",
        ),
    ] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Look once, and print all of it as text.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Watch what goes on in a namespace: its servers, tasks, workers, locks, messages and data.

    Of each kind what needs attention comes first. Keys: 1 to 5 and tab choose
    what is shown, p pauses, q quits.

    Where standard output is no terminal it looks once; with --json until
    Ctrl-C, an object for each look.
    """
    why = partial(_reason, url, embedded)
    with errors_told(url, embedded):
        hf = client(AsyncHoldfast, url, embedded, namespace, create=False)
        if as_json and not once:
            asyncio.run(_stream(hf, every, why))
        elif once or not console().is_interactive:
            asyncio.run(_once(hf, server_name(url, embedded), as_json=as_json))
        else:
            asyncio.run(_live(hf, Picture(server_name(url, embedded), every), why))


def _reason(url: str | None, embedded: Path | None, error: HoldfastError) -> str:
    return reason(error, url, embedded)


async def _once(hf: AsyncHoldfast, server: str, *, as_json: bool) -> None:
    async with hf:
        frame = await Survey(hf).look()
    if as_json:
        show_json(frame.as_json())
        return
    width = columns(UNFOLDED)
    for part in plain(frame, server, width if width < UNFOLDED else None):
        show(part)


async def _stream(hf: AsyncHoldfast, every_s: float, why: Callable[[HoldfastError], str]) -> None:
    def told(frame: Frame) -> None:
        show_json(frame.as_json())
        sys.stdout.flush()

    def failed(error: HoldfastError) -> None:
        show_json({"at": datetime.now(UTC), "namespace": hf.namespace, "problem": why(error)})
        sys.stdout.flush()

    async with hf:
        await until_signalled(Survey(hf), every_s, told=told, failed=failed)


async def _live(hf: AsyncHoldfast, picture: Picture, why: Callable[[HoldfastError], str]) -> None:
    async with hf:
        await Watch(console(), picture, why).run(Survey(hf))
