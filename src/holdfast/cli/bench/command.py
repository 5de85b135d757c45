"""The command `holdfast bench`."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ... import AsyncHoldfast, Holdfast, HoldfastError, ServerFacts, ServerRefused, __version__
from ..address import server_name
from ..codes import INTERRUPTED, REFUSED
from ..connection import Embedded, Url, client, errors_told, fail
from ..help import Commands
from ..output import AsJson, counted, say, show_json, size, warn
from .measure import Measure
from .stations import STATIONS, Work, blocking, concurrent
from .verdict import limits

app = Commands()


@app.command()
def bench(
    url: Url = None,
    embedded: Embedded = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", metavar="SECONDS", min=1.0, max=600.0, help="How long it takes, about."
        ),
    ] = 12.0,
    as_json: AsJson = False,
) -> None:
    """Measure how fast Holdfast is from this machine, with this server and this network.

    It makes as much load as one program can, in a namespace of its own, which
    it removes afterwards.
    """
    namespace, server = f"bench-{secrets.token_hex(4)}", server_name(url, embedded)
    with (
        errors_told(url, embedded),
        client(Holdfast, url, embedded, namespace, create=False) as hf,
    ):
        before, load = hf.servers(), os.getloadavg()[0]
        warn(f"this loads {server} for about {seconds:g} s, in a namespace {namespace!r}")
        if not as_json:
            _introduce(server, before)
        found = []
        with _erased_afterwards(hf):
            for measure in _measured(url, embedded, namespace, seconds / STATIONS):
                found.append(measure)
                if not as_json:
                    say(_line(measure))
    notes = limits(found, before, load, os.cpu_count() or 1)
    if as_json:
        _show_json(server, before, found, notes)
        return
    for note in ["", *notes]:
        say(note)


def _measured(
    url: str | None, embedded: Path | None, namespace: str, share_s: float
) -> Iterator[Measure]:
    work = Work()
    with client(Holdfast, url, embedded, namespace) as hf:
        yield from blocking(hf, work.tasks, share_s)

    async def concurrently() -> list[Measure]:
        async with client(AsyncHoldfast, url, embedded, namespace) as hf:
            return await concurrent(hf, work, share_s)

    yield from asyncio.run(concurrently())


@contextmanager
def _erased_afterwards(hf: Holdfast) -> Iterator[None]:
    """Nothing is left of the namespace of *hf*, also after Ctrl-C."""
    try:
        yield
    except ServerRefused as error:
        told = f"{error.reason}; the user has to be one who may use any namespace"
        fail(f"the server refuses: {told}", code=REFUSED)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    finally:
        try:
            hf.erase_namespace()
        except HoldfastError:
            warn(f"namespace {hf.namespace!r} could not be removed")


def _introduce(server: str, facts: list[ServerFacts]) -> None:
    cores = counted(os.cpu_count() or 1, "core")
    say(f"holdfast {__version__}, Python {platform.python_version()}, {cores} here")
    for one in facts:
        say(
            f"{server}: {one.software} {one.version}, {size(one.memory)}, {one.keys:,} keys, "
            f"{one.commands_per_second:,.0f} commands/s of others"
        )
    say("")
    say(f"{'':34}{'per second':>12}{'p50':>11}{'p99':>11}{'cpu here':>11}", style="bold")


def _line(measure: Measure) -> str:
    took = (measure.percentile_ms(part) for part in (0.5, 0.99))
    told = "".join("-".rjust(11) if ms is None else f"{ms:8.2f} ms" for ms in took)
    share = f"{measure.cpu_share:.0%}"
    return f"{measure.name:34}{measure.per_second:12,.0f}{told}{share:>11}"


def _show_json(
    server: str, facts: list[ServerFacts], found: list[Measure], notes: list[str]
) -> None:
    show_json(
        {
            "at": datetime.now(UTC),
            "holdfast": __version__,
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "server": server,
            "servers": [{"software": one.software, "version": one.version} for one in facts],
            "measures": [measure.as_json() for measure in found],
            "limits": notes,
        }
    )
