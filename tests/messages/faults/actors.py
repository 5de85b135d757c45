"""What senders and readers do in a round of trouble, and put on record: `act`.

An actor goes on until it is killed. One that is started again does what a program would: a sender
repeats what it does not know the end of, under its name; a reader reads what is not acknowledged.
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
from messages.faults.desks import DESKS, Desk, News

PLAY = f"{__name__}:act"
"""What a nursery is told."""

LEAVABLE = [f"chat-{n}" for n in range(25)]
"""Chats that are left by their members."""

HANDLING_S = 0.002
"""What a reader does with one message takes so long at most."""


def act(
    *, name: str, role: str, user: str, half: str, url: str, namespace: str, folder: str, **how: Any
) -> None:
    """Send, or read, until the end.

    Args:
        name: of the actor.
        role: of `ROLES`.
        user: who sends or reads; a user may have several devices.
        half: `sync` or `async`.
        url: of the server.
        namespace: of the round.
        folder: for the history.
        how: `desk` of `DESKS`, `kind` of it; `storm_s`, if all that is awaited may be cancelled.
    """
    desk = DESKS[how.pop("desk")](half, url, namespace, user=user, **how)
    path = Path(folder) / f"{name}.jsonl"
    past = read([path]) if path.exists() else []
    with Recorder(path) as recorder:
        ROLES[role](desk, user, recorder, past)


def send(desk: Desk, user: str, recorder: Recorder, past: Iterable[Operation]) -> None:
    """Say 1, 2, 3 … ."""
    said = [operation for operation in past if operation.kind == "send"]
    number = 1
    if said:
        last = said[-1]
        number = last.fields["number"] + (last.outcome == "ok")
    while True:
        say(desk, user, recorder, number)
        number += 1
        time.sleep(random.uniform(0, HANDLING_S))


def say(desk: Desk, user: str, recorder: Recorder, number: int) -> None:
    """Send one message."""
    with recorder.operation("send", key=user, number=number) as pending:
        pending.result = desk.send([user, number], user, f"{user}-{number}")


def receive(desk: Desk, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Read, handle, acknowledge; mostly."""
    while True:
        news = fetched(desk, user, recorder, random.randint(1, 20))
        handle(news, user, recorder, HANDLING_S)
        if random.random() < 0.8:
            acknowledge(desk, news, user, recorder)


def receive_hastily(desk: Desk, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Acknowledge before anything is handled, as nobody must."""
    while True:
        news = fetched(desk, user, recorder, random.randint(1, 20))
        acknowledge(desk, news, user, recorder)
        handle(news, user, recorder, HANDLING_S)


def receive_though_it_is_lost(
    desk: Desk, user: str, recorder: Recorder, _: Iterable[Operation]
) -> None:
    """As `receive`; what the server has forgotten meanwhile need not be acknowledged."""
    while True:
        news = fetched(desk, user, recorder, random.randint(1, 20))
        handle(news, user, recorder)
        with suppress(StaleBatch, NoSuchMessage):
            acknowledge(desk, news, user, recorder)


def come_and_go(desk: Desk, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Join, read and leave, while another device of the same user does so too."""
    while True:
        desk.join(user)
        news = fetched(desk, user, recorder, random.randint(1, 20))
        with suppress(NotAMember):  # the other device has left
            acknowledge(desk, news, user, recorder)
        desk.leave(user)


def leave_all(desk: Desk, user: str, recorder: Recorder, _: Iterable[Operation]) -> None:
    """Leave one chat after the other; who begins anew begins with the first."""
    for chat in LEAVABLE:
        desk.leave(user, chat)
    with recorder.operation("gone", key=user):
        pass


def fetched(desk: Desk, user: str, recorder: Recorder, limit: int) -> News:
    """What is new, on record."""
    with recorder.operation("fetch", key=user) as pending:
        news = desk.fetch(limit)
        pending.result = {"seqs": news.seqs, "bodies": news.bodies, "gap": news.gap}
    return news


def handle(news: News, user: str, recorder: Recorder, at_most_s: float = 0.0) -> None:
    """What messages are for. On record once it is over."""
    if news.gap:
        with recorder.operation("told", key=user, gap=news.gap):
            pass
    for seq in news.seqs:
        with recorder.operation("handle", key=user, seq=seq):
            time.sleep(random.uniform(0, at_most_s))


def acknowledge(desk: Desk, news: News, user: str, recorder: Recorder) -> None:
    """Say so; nothing depends on whether it is heard."""
    if not news.upto:
        return
    with recorder.operation("ack", key=user, upto=news.upto) as pending:
        try:
            desk.ack(news)
        except (ServerUnavailable, Interrupted):
            pending.unknown()


ROLES: dict[str, Callable[[Any, str, Recorder, Iterable[Operation]], None]] = {
    "send": send,
    "receive": receive,
    "receive_hastily": receive_hastily,
    "receive_though_it_is_lost": receive_though_it_is_lost,
    "come_and_go": come_and_go,
    "leave_all": leave_all,
}
