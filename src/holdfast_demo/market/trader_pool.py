"""Start the processes of traders, send them orders, and end them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ..processes import ProcessFailed
from .trader import TradeCounts


class TraderPool:
    """Run *size* traders in a block, one round at a time: `with TraderPool(…) as pool:`.

    Args:
        size: number of processes.
        example: path of the example `market.py`.
        url: URL of the server. It is sent through a pipe, because it may contain a password.
        namespace: namespace of the locks.
    """

    def __init__(self, size: int, example: Path, url: str, namespace: str) -> None:
        self._where = {"example": str(example), "url": url, "namespace": namespace}
        self._size = size
        self._traders: list[subprocess.Popen[str]] = []
        self._counts: list[TradeCounts] = []
        self._failure: ProcessFailed | None = None
        self._round = threading.Thread()

    def __enter__(self) -> Self:
        self._traders = [_started() for _ in range(self._size)]
        return self

    def __exit__(self, *ended: object) -> None:
        for trader in self._traders:  # kill them: their leases end by themselves
            trader.kill()
        if self._round.ident is not None:
            self._round.join()
        for trader in self._traders:
            trader.communicate()

    def connect(self) -> None:
        """Send the address of the market to all traders, and wait until they are ready.

        Raises:
            ProcessFailed: a trader ended instead.
        """
        self._ask([self._where] * self._size)

    def start_round(
        self, sellers: Sequence[str], buyers: Sequence[str], order: Mapping[str, Any]
    ) -> None:
        """Start a round with *sellers* and *buyers*, without waiting for its end."""
        orders = [{**order, "player": name, "sells": True} for name in sellers]
        orders += [{**order, "player": name, "sells": False} for name in buyers]
        self._round = threading.Thread(target=self._trade, args=(orders,), name="market")
        self._round.start()

    def counts(self) -> list[TradeCounts] | None:
        """Return the counts of each trader; None while the round lasts.

        Raises:
            ProcessFailed: a trader ended instead.
        """
        if self._failure is not None:
            raise self._failure
        return None if self._round.is_alive() else self._counts

    def pids(self, names: Sequence[str]) -> dict[str, int]:
        """Return name → id of the process that trades under this name."""
        return {name: trader.pid for name, trader in zip(names, self._traders, strict=False)}

    def _trade(self, orders: list[dict[str, Any]]) -> None:
        try:
            self._counts = [TradeCounts(**answer) for answer in self._ask(orders)]
        except ProcessFailed as error:
            self._failure = error

    def _ask(self, orders: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        asked = self._traders[: len(orders)]
        for trader, order in zip(asked, orders, strict=True):
            assert trader.stdin
            try:
                trader.stdin.write(f"{json.dumps(order)}\n")
                trader.stdin.flush()
            except BrokenPipeError:
                raise _failure(trader) from None
        return [_answer(trader) for trader in asked]


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast_demo.market.trader"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that Ctrl-C reaches only the demo, which ends the traders
    )


def _answer(trader: subprocess.Popen[str]) -> dict[str, Any]:
    assert trader.stdout
    line = trader.stdout.readline()
    if not line:
        raise _failure(trader)
    answer: dict[str, Any] = json.loads(line)
    return answer


def _failure(trader: subprocess.Popen[str]) -> ProcessFailed:
    assert trader.stderr
    said = trader.stderr.read()
    return ProcessFailed("a trader", trader.wait(), said)
