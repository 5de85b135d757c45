"""Senders and readers are killed, the server restarted, replies lost: each message is handled.

Or its reader is told of a gap. All see one order, and only what was not acknowledged is repeated.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults.nursery import Nursery
from faults.servers import Server
from messages.faults.round import Plan, Round
from messages.faults.testimony import check, nothing_is_lost

ROUNDS = 5  # of each kind one
LATER = [pytest.param(part, marks=pytest.mark.long) for part in range(1, 6)]

pytestmark = pytest.mark.timeout(600)  # so many rounds on a busy machine

TRIES = 30
"""Rounds in which a bad chat has to show that it is one; the second or third mostly does."""


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with Nursery("messages.faults.actors") as nursery:
        yield nursery


def play(server: Server, nursery: Nursery, folder: Path, plan: Plan) -> None:
    history = Round(plan, server, nursery, folder).history()
    check(history, plan.readers, plan.dropped)
    assert "Traceback" not in nursery.output, f"an actor failed in {plan}:\n{nursery.output}"


@pytest.mark.parametrize("part", [0, *LATER])
def test_nothing_is_lost_in_rounds_of_kills_of_each_kind(
    fresh_server: Server, nursery: Nursery, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(ROUNDS):
        play(fresh_server, nursery, tmp_path, Plan.of(seed + part * ROUNDS + n))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_nothing_is_lost_in_a_thousand_rounds_of_kills(
    fresh_server: Server, nursery: Nursery, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(100):
        play(fresh_server, nursery, tmp_path, Plan.of(seed + part * 100 + n))


def play_badly(server: Server, nursery: Nursery, folder: Path, plan: Plan) -> None:
    """Rounds, until nobody can send or, where readers are struck, something is lost."""
    for n in range(TRIES):
        round_ = Round(replace(plan, seed=plan.seed + n, outages=False), server, nursery, folder)
        history = round_.history()
        for reader in plan.readers if plan.reading in plan.struck else []:
            nothing_is_lost(history, reader)


def test_a_reader_that_acknowledges_too_early_is_caught(
    fresh_server: Server, nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    plan = Plan(seed, reading="receive_hastily")
    with pytest.raises(AssertionError, match="never handled"):
        play_badly(fresh_server, nursery, tmp_path, plan)


def test_a_chat_in_which_fetching_acknowledges_is_caught(
    fresh_server: Server, nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    plan = Plan(seed, desk="seed", struck=["receive"])
    with pytest.raises(AssertionError, match="never handled"):
        play_badly(fresh_server, nursery, tmp_path, plan)


def test_a_chat_with_a_lock_is_caught(
    fresh_server: Server, nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    plan = Plan(seed, desk="seed", struck=["send"])
    with pytest.raises(TimeoutError, match="could not get the lock"):
        play_badly(fresh_server, nursery, tmp_path, plan)
