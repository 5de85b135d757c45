"""Processes that send and read while faults are injected, and record what they do: `act`.

An actor runs until it is killed. After a restart, a sender repeats the message with an unknown
outcome under its operation id, and a reader fetches what is not acknowledged.
"""

import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from faults.halves import Interrupted
from faults.history import Operation, Recorder, read
from holdfast import NoSuchMessage, NotAMember, ServerUnavailable, StaleBatch
from messages.faults.endpoints import ENDPOINTS, Endpoint, Fetched

ENTRY_POINT = f"{__name__}:act"
"""The function that a fork server runs."""

LEAVABLE = [f"chat-{n}" for n in range(25)]
"""The chats that `leave_all` leaves."""

HANDLING_S = 0.002
"""Seconds that a reader needs for one message, at most."""


def act(
    *, name: str, role: str, user: str, half: str, url: str, namespace: str, folder: str, **how: Any
) -> None:
    """Send or read until the process is killed.

    Args:
        name: name of the actor.
        role: one of `ROLES`.
        user: the user who sends or reads; several actors may have the same user.
        half: `sync` or `async`.
        url: URL of the server.
        namespace: namespace of the round.
        folder: folder for the history.
        how: `endpoint`, one of `ENDPOINTS`, and its `kind`; `storm_s` if awaited calls may be
            cancelled.
    """
    endpoint = ENDPOINTS[how.pop("endpoint")](half, url, namespace, user=user, **how)
    path = Path(folder) / f"{name}.jsonl"
    past = read([path]) if path.exists() else []
    with Recorder(path) as recorder:
        ROLES[role](endpoint, user, recorder, past)


def send(endpoint: Endpoint, user: str, recorder: Recorder, past: Iterable[Operation]) -> None:
    """Send messages with the numbers 1, 2, 3, and so on."""
    sends = [operation for operation in past if operation.kind == "send"]
    number = 1
    if sends:
        last = sends[-1]
        number = last.fields["number"] + (last.outcome == "ok")
    while True:
        send_one(endpoint, user, recorder, number)
        number += 1
        time.sleep(random.uniform(0, HANDLING_S))


def send_one(endpoint: Endpoint, user: str, recorder: Recorder, number: int) -> None:
    """Send one message, and record it."""
    with recorder.operation("send", key=user, number=number) as pending:
        pending.result = endpoint.send([user, number], user, f"{user}-{number}")


def receive(endpoint: Endpoint, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Fetch and handle messages; acknowledge four of five batches."""
    while True:
        result = fetched(endpoint, user, recorder, random.randint(1, 20))
        handle(result, user, recorder, HANDLING_S)
        if random.random() < 0.8:
            acknowledge(endpoint, result, user, recorder)


def acknowledge_first(
    endpoint: Endpoint, user: str, recorder: Recorder, _: Iterable[Operation]
) -> None:
    """Acknowledge each batch before it is handled, which a correct reader must not do."""
    while True:
        result = fetched(endpoint, user, recorder, random.randint(1, 20))
        acknowledge(endpoint, result, user, recorder)
        handle(result, user, recorder, HANDLING_S)


def receive_lossy(
    endpoint: Endpoint, user: str, recorder: Recorder, _: Iterable[Operation]
) -> None:
    """Do the same as `receive`, on a server that may lose messages before they are acknowledged."""
    while True:
        result = fetched(endpoint, user, recorder, random.randint(1, 20))
        handle(result, user, recorder)
        with suppress(StaleBatch, NoSuchMessage):
            acknowledge(endpoint, result, user, recorder)


def join_and_leave(
    endpoint: Endpoint, user: str, recorder: Recorder, _: Iterable[Operation]
) -> None:
    """Join, fetch and leave, while another device of the same user does the same."""
    while True:
        endpoint.join(user)
        result = fetched(endpoint, user, recorder, random.randint(1, 20))
        with suppress(NotAMember):  # the other device has left
            acknowledge(endpoint, result, user, recorder)
        endpoint.leave(user)


def leave_all(endpoint: Endpoint, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Leave one chat after the other; after a restart, begin with the first one."""
    for chat in LEAVABLE:
        endpoint.leave(user, chat)
    with recorder.operation("gone", key=user):
        pass


def fetched(endpoint: Endpoint, user: str, recorder: Recorder, limit: int) -> Fetched:
    """Fetch new messages, and record them."""
    with recorder.operation("fetch", key=user) as pending:
        result = endpoint.fetch(limit)
        pending.result = {"seqs": result.seqs, "bodies": result.bodies, "gap": result.gap}
    return result


def handle(result: Fetched, user: str, recorder: Recorder, at_most_s: float = 0.0) -> None:
    """Process messages, and record each one when it is done."""
    if result.gap:
        with recorder.operation("gap", key=user, gap=result.gap):
            pass
    for seq in result.seqs:
        with recorder.operation("handle", key=user, seq=seq):
            time.sleep(random.uniform(0, at_most_s))


def acknowledge(endpoint: Endpoint, result: Fetched, user: str, recorder: Recorder) -> None:
    """Acknowledge messages, and record the outcome, which may be unknown."""
    if not result.upto:
        return
    with recorder.operation("ack", key=user, upto=result.upto) as pending:
        try:
            endpoint.ack(result)
        except (ServerUnavailable, Interrupted):
            pending.unknown()


ROLES: dict[str, Callable[[Any, str, Recorder, Iterable[Operation]], None]] = {
    "send": send,
    "receive": receive,
    "acknowledge_first": acknowledge_first,
    "receive_lossy": receive_lossy,
    "join_and_leave": join_and_leave,
    "leave_all": leave_all,
}
