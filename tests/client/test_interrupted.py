"""Exceptions of signal handlers and timeouts interrupt a blocking client at any line.

Afterwards no lock is held, no thread hangs, and the client works, also in other threads.
"""

import itertools
import json
import random
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from client.interrupted_uses import USES, WITH_LEASES
from faults.interrupts import SOURCE, handler, interrupted_at, steps_of
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast

pytestmark = pytest.mark.usefixtures("collects_clients")

PATIENCE_S = 60.0
STEPS = 2
"""Steps of each use that `make test` interrupts, chosen at random in each run."""

FREE_S = 10.0
"""A lease of the uses lasts a second, and a second more may pass; the rest is for slow machines."""


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    """Open a client that must close in time."""
    client = Holdfast.from_url(standalone.url, namespace=f"interrupted-{secrets.token_hex(4)}")
    yield client
    ends(client.close)


def ends(function: Callable[[], object]) -> None:
    """Run *function* in a thread, which must end."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 (reported below)
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "it hangs"
    if failures:
        raise failures[0]


def is_free(hf: Holdfast) -> bool:
    """Return whether nothing is held, and nothing waits."""
    return not hf.locks() and not hf.semaphores()


def interrupt(hf: Holdfast, url: str, name: str, steps: list[int], *, opcodes: bool) -> None:
    """Interrupt a use at each of *steps*; after each one it works, here and in another thread.

    Until then the exception is kept, as an interactive session keeps the last one.
    """
    use = partial(USES[name], hf, url)
    for step in steps:
        kept: list[BaseException] | None = None if name in WITH_LEASES else []
        place = interrupted_at(step, use, opcodes=opcodes, kept=kept)
        try:
            use()
            ends(use)
        except BaseException as error:
            error.add_note(f"it was interrupted at {place}")
            raise
    eventually(lambda: is_free(hf), FREE_S, reason="nothing is held")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
@pytest.mark.parametrize("name", USES)
def test_an_exception_at_some_line(
    standalone: Server, hf: Holdfast, name: str, request: pytest.FixtureRequest
) -> None:
    use = partial(USES[name], hf, standalone.url)
    use()
    dice = random.Random(request.config.getoption("--seed", None))
    steps = dice.sample(range(1, steps_of(use) + 1), STEPS)
    interrupt(hf, standalone.url, name, steps, opcodes=False)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
@pytest.mark.parametrize("name", USES)
def test_an_exception_at_every_line(standalone: Server, hf: Holdfast, name: str) -> None:
    use = partial(USES[name], hf, standalone.url)
    use()
    interrupt(hf, standalone.url, name, list(range(1, steps_of(use) + 1)), opcodes=False)
    count = steps_of(use, opcodes=True)
    dice = random.Random(name)
    interrupt(hf, standalone.url, name, dice.sample(range(1, count), count // 10), opcodes=True)


class Dropped(ConnectionError):
    """What a signal handler raises about a connection of the program's own."""


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
def test_a_connection_error_of_a_handler_arrives_as_it_was_raised(standalone: Server) -> None:
    """It never becomes `ServerUnavailable`, whatever the connection does at that moment."""

    def call() -> None:
        with Holdfast.from_url(standalone.url, namespace=f"d-{secrets.token_hex(4)}") as hf:
            hf.counter("c").add(1)

    wake = partial(signal.raise_signal, signal.SIGALRM)
    transport = f"{SOURCE}/core/transport/_sync/connection"
    raised = 0
    with handler(Dropped):
        for step in itertools.count(1):
            try:
                if interrupted_at(step, call, files=transport, instead=wake) is None:
                    break
            except Dropped:
                raised += 1
    assert raised == step - 1 > 5


def by_signals(url: str, seconds: float) -> list[str]:
    """Have signals interrupt all uses in a program of its own; what is wrong then."""
    command = [sys.executable, "-m", "client.interrupted_by_signals", url, str(seconds)]
    folder = Path(__file__).parents[1]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    wrong: list[str] = json.loads(done.stdout.splitlines()[-1])
    return wrong


def test_signals_at_random_times(standalone: Server) -> None:
    """Handlers raise KeyboardInterrupt or TimeoutError, a few times in each use."""
    assert by_signals(standalone.url, 0.1) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_signals_at_very_many_times(standalone: Server) -> None:
    assert by_signals(standalone.url, 20.0) == []
