"""Rounds in which actors are killed, the server restarts, and replies are lost.

Readers handle each message or get a gap for it. All readers get one order. Only messages that were
not acknowledged are repeated.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults.nursery import ForkServer
from faults.servers import Server
from messages.faults.history_checks import check, nothing_is_lost
from messages.faults.round import Round, Scenario

ROUNDS = 5  # one of each kind
LATER = [pytest.param(part, marks=pytest.mark.long) for part in range(1, 6)]

pytestmark = pytest.mark.timeout(600)  # for a busy machine

TRIES = 30
"""Rounds in which an incorrect chat must fail. It mostly fails in the second or third round."""


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    with ForkServer("messages.faults.actors") as fork_server:
        yield fork_server


def run_round(server: Server, fork_server: ForkServer, folder: Path, scenario: Scenario) -> None:
    history = Round(scenario, server, fork_server, folder).history()
    check(history, scenario.readers, scenario.dropped)
    assert "Traceback" not in fork_server.output, (
        f"an actor failed in {scenario}:\n{fork_server.output}"
    )


@pytest.mark.parametrize("part", [0, *LATER])
def test_nothing_is_lost_in_rounds_of_kills_of_each_kind(
    fresh_server: Server, fork_server: ForkServer, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(ROUNDS):
        run_round(fresh_server, fork_server, tmp_path, Scenario.of(seed + part * ROUNDS + n))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_nothing_is_lost_in_a_thousand_rounds_of_kills(
    fresh_server: Server, fork_server: ForkServer, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(100):
        run_round(fresh_server, fork_server, tmp_path, Scenario.of(seed + part * 100 + n))


def run_rounds(server: Server, fork_server: ForkServer, folder: Path, scenario: Scenario) -> None:
    """Run rounds until a send fails, or, if readers are killed, until a message is lost."""
    for n in range(TRIES):
        round_ = Round(
            replace(scenario, seed=scenario.seed + n, outages=False), server, fork_server, folder
        )
        history = round_.history()
        for reader in scenario.readers if scenario.reading in scenario.struck else []:
            nothing_is_lost(history, reader)


def test_the_checks_catch_a_reader_that_acknowledges_too_early(
    fresh_server: Server, fork_server: ForkServer, tmp_path: Path, seed: int
) -> None:
    scenario = Scenario(seed, reading="acknowledge_first")
    with pytest.raises(AssertionError, match="never handled"):
        run_rounds(fresh_server, fork_server, tmp_path, scenario)


def test_the_checks_catch_a_chat_where_fetch_acknowledges(
    fresh_server: Server, fork_server: ForkServer, tmp_path: Path, seed: int
) -> None:
    scenario = Scenario(seed, endpoint="textbook", struck=["receive"])
    with pytest.raises(AssertionError, match="never handled"):
        run_rounds(fresh_server, fork_server, tmp_path, scenario)


def test_the_checks_catch_a_chat_with_a_lock(
    fresh_server: Server, fork_server: ForkServer, tmp_path: Path, seed: int
) -> None:
    scenario = Scenario(seed, endpoint="textbook", struck=["send"])
    with pytest.raises(TimeoutError, match="could not get the lock"):
        run_rounds(fresh_server, fork_server, tmp_path, scenario)
