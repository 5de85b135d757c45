"""Tests of `IdleListing`, and of the field of the replies to steps that it reads."""

import secrets
from typing import Any

import pytest

from faults.servers import Server
from holdfast.core.concurrency._async.primitives import Event
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.worker.idle_listing import IdleListing
from holdfast.queues.worker.step import STEP, Step, StepReply

CHANNEL = "channel@worker"
LEASE_MS = 10_000


def step(number: int, *, want: int = 1) -> Step:
    return Step("writer", number, CHANNEL, want)


def reply(*, was_idle: bool, left: int = 0, wait_ms: int = -1) -> StepReply:
    return StepReply(
        0.0, wait_ms, left, "", 0, [], [], any_events=False, server_ms=0, was_idle=was_idle
    )


@pytest.mark.parametrize(
    ("want", "left", "wait_ms", "is_listed"),
    [
        pytest.param(1, 0, -1, True, id="nothing was found"),
        pytest.param(1, -1, 0, False, id="all was found"),
        pytest.param(1, -1, -1, True, id="a repeated step may have found nothing"),
        pytest.param(0, -1, 0, False, id="nothing was wanted"),
    ],
)
def test_a_step_that_finds_too_little_lists_the_worker(
    want: int, left: int, wait_ms: int, is_listed: bool
) -> None:
    listing = IdleListing()
    listing.answered(step(1, want=want), reply(was_idle=False, left=left, wait_ms=wait_ms))
    assert listing.is_listed == is_listed
    assert not listing.claim_may_come


@pytest.mark.parametrize("want", [0, 1])
def test_a_claim_may_come_after_another_script_took_the_worker_from_the_list(want: int) -> None:
    listing = IdleListing()
    listing.answered(step(1), reply(was_idle=False))
    listing.answered(step(2), reply(was_idle=True))
    assert not listing.claim_may_come
    listing.answered(step(3, want=want), reply(was_idle=False))
    listing.answered(step(4), reply(was_idle=True))
    listing.answered(step(5, want=0), reply(was_idle=True))
    assert listing.claim_may_come
    assert not listing.is_listed


async def test_the_reply_contains_whether_the_worker_was_listed(standalone: Server) -> None:
    raw = standalone.shared_client
    unit = Namespace.of(f"listing-{secrets.token_hex(4)}").unit(keys.KIND, "tasks")
    numbers = iter(range(1, 9))

    def was_idle(want: int) -> bool:
        made = step(next(numbers), want=want)
        names = [*STEP.keys(unit), *made.result_keys(unit)]
        args: list[Any] = [*names, *made.arguments("worker", LEASE_MS)]
        answer = raw.eval(STEP.source, len(names), *args)
        return StepReply.parsed(0.0, answer, Event()).was_idle

    assert [was_idle(1), was_idle(1), was_idle(0), was_idle(0), was_idle(1)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    raw.zrem(keys.idle(unit), CHANNEL)
    assert not was_idle(1)
