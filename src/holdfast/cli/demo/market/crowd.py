"""The traders of a demo: started together, asked together, never left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Self

LOG_LINES = 8


class TraderFailed(RuntimeError):
    """A trader ended by itself; carries the end of what it had to say."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        tail = "\n".join(said.splitlines()[-LOG_LINES:])
        super().__init__(f"a trader ended with status {status}\n{tail}")


class Crowd:
    """`with Crowd(…) as crowd:` keeps *size* traders ready.

    Args:
        where: the first line for each; it goes by a pipe, for a URL may hold a password.
    """

    def __init__(self, size: int, where: Mapping[str, Any]) -> None:
        self._size = size
        self._where = where
        self._traders: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        try:
            for _ in range(self._size):
                self._traders.append(_start())
            self.ask([self._where] * self._size)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *ended: object) -> None:
        self._end()

    def ask(self, orders: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Give an order to each of the first traders, and wait for all their answers.

        Raises:
            TraderFailed: one of them ended instead.
        """
        asked = self._traders[: len(orders)]
        for trader, order in zip(asked, orders, strict=True):
            _tell(trader, json.dumps(order))
        return [_answer(trader) for trader in asked]

    def pids(self, names: Sequence[str]) -> dict[str, int]:
        """The processes of those who were asked under these names, as far as they have begun."""
        return {name: trader.pid for name, trader in zip(names, self._traders, strict=False)}

    def kill(self) -> None:
        """In the midst of what they do: their leases end by themselves."""
        for trader in self._traders:
            trader.kill()

    def _end(self) -> None:
        self.kill()
        for trader in self._traders:
            trader.communicate()


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli.demo.market.trader"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the demo, which ends them
    )


def _tell(trader: subprocess.Popen[str], line: str) -> None:
    assert trader.stdin
    try:
        trader.stdin.write(f"{line}\n")
        trader.stdin.flush()
    except BrokenPipeError:
        raise _failure(trader) from None


def _answer(trader: subprocess.Popen[str]) -> dict[str, Any]:
    assert trader.stdout
    line = trader.stdout.readline()
    if not line:
        raise _failure(trader)
    answer: dict[str, Any] = json.loads(line)
    return answer


def _failure(trader: subprocess.Popen[str]) -> TraderFailed:
    assert trader.stderr
    said = trader.stderr.read()
    return TraderFailed(trader.wait(), said)
