"""Test the event loops of commands: uvloop if it is installed, otherwise asyncio."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import Any

import pytest
from typer.testing import CliRunner

from faults.processes import Process
from faults.servers import Server
from holdfast import AsyncHoldfast
from holdfast.cli.app import app

REFRESHER = """
import asyncio, sys, types
from holdfast import AsyncHoldfast
from holdfast.cli import main

class Source:
    async def load(self, ids):
        print(type(asyncio.get_running_loop()).__module__)
        shop.cache.stop()
        return {}

async def schedule():
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        await hf.row_cache("stock", source=Source()).schedule("42", every=60.0)

url, namespace, loops_from = sys.argv[1:]
if loops_from == "asyncio":
    sys.modules["uvloop"] = None  # as if it were not installed
asyncio.run(schedule())
shop = sys.modules["shop"] = types.ModuleType("shop")
shop.cache = AsyncHoldfast.from_url(url, namespace=namespace).row_cache("stock", source=Source())
sys.argv[1:] = ["rows", "run", "--quiet", "shop:cache"]
main()
"""


def test_rows_are_refreshed_in_the_quickest_loop_there_is(
    standalone: Server, loops_from: str
) -> None:
    """Refresh the rows of an async cache."""
    args = [standalone.url, secrets.token_hex(4), loops_from]
    with Process.python("-c", REFRESHER, *args, name="refresher") as refresher:
        assert refresher.wait(60) == 0, refresher.output
        assert refresher.output.split()[0].partition(".")[0] == loops_from


def test_the_gateway_serves_in_the_quickest_loop_there_is(
    standalone: Server, loops_from: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Serve with it."""
    loops = []

    async def noted(hf: AsyncHoldfast, taken: socket.socket, *_: Any, **__: Any) -> None:
        loops.append(type(asyncio.get_running_loop()).__module__.partition(".")[0])
        taken.close()
        await hf.close()

    monkeypatch.setattr("holdfast.cli.serve.commands.run_gateway", noted)
    result = CliRunner().invoke(app, ["serve", "--url", standalone.url, "--port", "0"])
    assert result.exit_code == 0, result.output
    assert loops == [loops_from]
