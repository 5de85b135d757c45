"""`holdfast top`: watch a namespace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from ... import AsyncHoldfast, HoldfastError
from ..address import server_name
from ..commands import Commands
from ..connection import Embedded, Namespace, Url, client_errors, open_client, reason
from ..options import flag, option
from ..output import UNFOLDED, AsJson, console, line_width, print_block, print_json
from .live import LiveTop, follow_until_signal
from .screen import TopScreen, plain_parts
from .snapshot import SnapshotReader, TopSnapshot

app: Final = Commands()


@app.command(example="holdfast top --namespace shop --every 2")
def top(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    every: Annotated[
        float, option("SECONDS", "Seconds between two updates, 0.2 to 3600.", min=0.2, max=3600.0)
    ] = 2.0,
    once: Annotated[bool, flag("Print one snapshot as text, and exit.", "--once")] = False,
    as_json: AsJson = False,
) -> None:
    """Watch a namespace: its servers, tasks, workers, locks, messages and data.

    What needs attention comes first. Keys: 1 to 5 and tab choose
    what is shown, p pauses, q quits.

    If standard output is no terminal it prints one snapshot; with --json one
    object for each snapshot until Ctrl-C.
    """
    explain = partial(_reason, url, embedded)
    with client_errors(url, embedded):
        hf = open_client(AsyncHoldfast, url, embedded, namespace, create=False)
        if as_json and not once:
            asyncio.run(_stream(hf, every, explain))
        elif once or not console().is_interactive:
            asyncio.run(_once(hf, server_name(url, embedded), as_json=as_json))
        else:
            screen = TopScreen(server_name(url, embedded), every)
            asyncio.run(_live(hf, screen, explain))


def _reason(url: str | None, embedded: Path | None, error: HoldfastError) -> str:
    return reason(error, url, embedded)


async def _once(hf: AsyncHoldfast, server: str, *, as_json: bool) -> None:
    async with hf:
        snapshot = await SnapshotReader(hf).read()
    if as_json:
        print_json(snapshot.as_json())
        return
    width = line_width(UNFOLDED)
    for part in plain_parts(snapshot, server, width if width < UNFOLDED else None):
        print_block(part)


async def _stream(
    hf: AsyncHoldfast, every_s: float, explain: Callable[[HoldfastError], str]
) -> None:
    def show(snapshot: TopSnapshot) -> None:
        print_json(snapshot.as_json())
        sys.stdout.flush()

    def fail(error: HoldfastError) -> None:
        where = {"at": datetime.now(UTC), "namespace": hf.namespace}
        print_json(where, {"problem": explain(error)})
        sys.stdout.flush()

    async with hf:
        await follow_until_signal(SnapshotReader(hf), every_s, show=show, fail=fail)


async def _live(
    hf: AsyncHoldfast, screen: TopScreen, explain: Callable[[HoldfastError], str]
) -> None:
    async with hf:
        await LiveTop(console(), screen, explain).run(SnapshotReader(hf))
