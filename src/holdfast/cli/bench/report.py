"""`holdfast bench`: run all measurements and print them."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from ... import AsyncHoldfast, Holdfast, HoldfastError, ServerFacts, ServerRefused, __version__
from ...inspect.formats import counted, size
from ..address import server_name
from ..commands import Commands
from ..connection import Embedded, Url, client_errors, fail, open_client
from ..exit_codes import INTERRUPTED, REFUSED
from ..options import option
from ..output import AsJson, print_json, print_line, warn
from .limits import limits
from .measure import Measurement
from .measurements import MEASUREMENTS, CountedTask, blocking, concurrent

app: Final = Commands()


@app.command(example="holdfast bench --url redis://localhost:6379 --seconds 10")
def bench(
    url: Url = None,
    embedded: Embedded = None,
    seconds: Annotated[
        float, option("SECONDS", "Approximate duration.", min=1.0, max=600.0)
    ] = 12.0,
    as_json: AsJson = False,
) -> None:
    """Measure how fast Holdfast is from this machine, with this server and this network.

    It makes as much load as one program can, in a namespace of its own, which
    it removes afterwards.
    """
    namespace, server = f"bench-{secrets.token_hex(4)}", server_name(url, embedded)
    with (
        client_errors(url, embedded),
        open_client(Holdfast, url, embedded, namespace, create=False) as hf,
    ):
        before, load = hf.servers(), os.getloadavg()[0]
        warn(f"this loads {server} for about {seconds:g} s, in a namespace {namespace!r}")
        if not as_json:
            _print_head(server, before)
        found = []
        with _namespace_erased(hf):
            for measure in _measure_all(url, embedded, namespace, seconds / MEASUREMENTS):
                found.append(measure)
                if not as_json:
                    print_line(_line(measure))
    notes = limits(found, before, load, os.cpu_count() or 1)
    if as_json:
        _print_json(server, before, found, notes)
        return
    for note in ["", *notes]:
        print_line(note)


def _measure_all(
    url: str | None, embedded: Path | None, namespace: str, share_s: float
) -> Iterator[Measurement]:
    task = CountedTask()
    with open_client(Holdfast, url, embedded, namespace) as hf:
        yield from blocking(hf, task.registry, share_s)

    async def concurrently() -> list[Measurement]:
        async with open_client(AsyncHoldfast, url, embedded, namespace) as hf:
            return await concurrent(hf, task, share_s)

    yield from asyncio.run(concurrently())


@contextmanager
def _namespace_erased(hf: Holdfast) -> Iterator[None]:
    """Erase the namespace of *hf* at the end, also after Ctrl-C."""
    try:
        yield
    except ServerRefused as error:
        reason = f"{error.reason}; `bench` needs a user with rights to any namespace"
        fail(f"the server refuses: {reason}", code=REFUSED)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    finally:
        try:
            hf.erase_namespace()
        except HoldfastError:
            warn(f"namespace {hf.namespace!r} could not be removed")


def _print_head(server: str, facts: list[ServerFacts]) -> None:
    cores = counted(os.cpu_count() or 1, "core")
    print_line(f"holdfast {__version__}, Python {platform.python_version()}, {cores} here")
    for one in facts:
        print_line(
            f"{server}: {one.software} {one.version}, {size(one.memory)}, {one.keys:,} keys, "
            f"{one.commands_per_second:,.0f} commands/s of others"
        )
    print_line("")
    print_line(f"{'':34}{'per second':>12}{'p50':>11}{'p99':>11}{'cpu here':>11}", style="bold")


def _line(measure: Measurement) -> str:
    latencies = (measure.percentile_ms(part) for part in (0.5, 0.99))
    cells = "".join("-".rjust(11) if ms is None else f"{ms:8.2f} ms" for ms in latencies)
    share = f"{measure.cpu_share:.0%}"
    return f"{measure.name:34}{measure.per_second:12,.0f}{cells}{share:>11}"


def _print_json(
    server: str, facts: list[ServerFacts], found: list[Measurement], notes: list[str]
) -> None:
    print_json(
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
