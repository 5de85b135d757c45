"""`holdfast queues` lists the task queues."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from .connection import Embedded, Namespace, Url, connected
from .output import console, visible


def queues(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """List the task queues: how many tasks are ready, delayed, running and dead."""
    with connected(url, embedded, namespace) as hf:
        stats = {name: hf.queue(name).stats() for name in sorted(hf.queues())}
    if as_json:
        for name, each in stats.items():
            typer.echo(json.dumps({"queue": name, **asdict(each)}))
        return
    if not stats:
        console().print(f"no queues in namespace {visible(namespace)}")
        return
    table = Table("queue", box=None, header_style="bold", pad_edge=False)
    for column in ("ready", "delayed", "running", "dead", "waiting workers"):
        table.add_column(column, justify="right")
    for name, each in stats.items():
        dead = f"[red]{each.dead:,}[/]" if each.dead else "0"
        numbers = (each.ready, each.delayed, each.running)
        table.add_row(
            visible(name), *(f"{n:,}" for n in numbers), dead, f"{each.waiting_workers:,}"
        )
    console().print(table)
