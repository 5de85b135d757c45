"""Members who leave, are silent, or find that the server forgot: each a process of its own."""

import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from faults.checkers import audit
from faults.history import Operation, read
from faults.nemesis import Nemesis, kill, pause
from faults.nursery import Actor, Nursery
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, NoSuchChat
from holdfast.core.names import Namespace
from holdfast.messages import keys
from messages.faults.actors import LEAVABLE, PLAY
from messages.faults.desks import PLACE
from messages.faults.round import FEW
from messages.faults.testimony import nothing_is_skipped

PATIENCE_S = 60.0
DEVICES = [("jack", "sync"), ("jill", "async")]
BLOCK = 128
"""Messages that may stay longer: they go in blocks, 100 and some by default."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("messages.faults.actors") as nursery:
        yield nursery


class Stage:
    """Where a few actors play.

    Attributes:
        hf: a client that is not theirs.
    """

    def __init__(self, server: Server, nursery: Nursery, folder: Path) -> None:
        namespace = f"stage-{secrets.token_hex(4)}"
        self.hf = Holdfast.from_url(server.url, namespace=namespace)
        self._about = {"url": server.url, "namespace": namespace, "desk": "holdfast"}
        self._nursery, self._folder = nursery, folder
        self._actors: list[Actor] = []

    def actor(self, role: str, user: str, half: str, kind: str = "chat") -> Actor:
        about: dict[str, Any] = {**self._about, "role": role, "user": user, "half": half}
        name, folder = f"{role}-{user}-{half}", str(self._folder)
        actor = Actor(self._nursery, PLAY, name=name, kind=kind, folder=folder, **about)
        self._actors.append(actor)
        actor.start()
        return actor

    def history(self, kind: str, user: str) -> Sequence[Operation]:
        paths = self._folder.glob(f"*-{user}-*.jsonl")
        return [op for op in read(paths) if op.kind == kind and op.outcome == "ok"]

    def close(self) -> None:
        for actor in self._actors:
            actor.kill()
        self.hf.close()


@pytest.fixture
def stage(fresh_server: Server, nursery: Nursery, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(fresh_server, nursery, tmp_path)
    yield stage
    stage.close()
    assert "Traceback" not in nursery.output, nursery.output


def test_the_last_two_leave_together_though_they_are_killed(
    stage: Stage, fresh_server: Server, seed: int
) -> None:
    for chat in LEAVABLE:
        stage.hf.create_chat(["a", "b"], sender="a", body=1, chat_id=chat)
    leavers = [stage.actor("leave_all", "a", "sync"), stage.actor("leave_all", "b", "async")]
    until_s = time.monotonic() + 10  # on a busy machine nobody who is struck so often gets far

    def is_empty() -> bool:
        return not stage.hf.inbox("a").chats()

    with Nemesis(seed, leavers, actions=(kill, kill, pause), every=(0, 0.05), lasting=(0, 0.02)):
        eventually(lambda: is_empty() or time.monotonic() > until_s)
    eventually(is_empty, PATIENCE_S)
    for user in "ab":
        eventually(lambda user=user: stage.history("gone", user), PATIENCE_S)  # type: ignore[misc]
        assert stage.hf.inbox(user).chats() == []
    for chat in LEAVABLE:
        with pytest.raises(NoSuchChat):
            stage.hf.chat(chat).members()
    with fresh_server.client() as client:
        left = audit(client, f"{stage.hf.namespace}:", [f"{stage.hf.namespace}:*names*"])
    assert not [name for name in left if "{chat:" in name and ":ledger:" not in name]


@pytest.mark.parametrize("half", ["sync", "async"])
def test_a_reader_that_is_silent_for_ever_costs_what_is_kept(
    stage: Stage, fresh_server: Server, half: str
) -> None:
    chat = stage.hf.create_chat(
        ["jack", "ruth"], sender="jack", body=["jack", 0], chat_id=PLACE, keep=FEW
    )
    reader = stage.actor("receive", "ruth", half)
    eventually(lambda: stage.history("ack", "ruth"), PATIENCE_S)
    reader.pause()
    shown = chat.status().last_seq
    sender = stage.actor("send", "jack", "sync")
    eventually(lambda: chat.status().last_seq > shown + 3 * BLOCK, PATIENCE_S)
    unit = Namespace.of(stage.hf.namespace).unit(keys.CHAT, PLACE)
    assert fresh_server.execute("XLEN", keys.log(unit)) <= FEW + BLOCK
    sender.kill()
    reader.resume()
    last = chat.status().last_seq
    eventually(lambda: chat.members()["ruth"] == last, PATIENCE_S)
    told = {tuple(op.fields["gap"][1:]) for op in stage.history("told", "ruth")}
    assert told == {(last - FEW, "dropped")}, "again, if it was not acknowledged"
    nothing_is_skipped([*stage.history("ack", "ruth"), *stage.history("fetch", "ruth")])


def test_a_server_that_forgets_everything_is_told_as_a_reset(
    stage: Stage, fresh_server: Server
) -> None:
    box = stage.hf.mailbox(PLACE)
    box.redefine(capacity=100_000)
    senders = [stage.actor("send", user, half, "mailbox") for user, half in DEVICES]
    for _, half in DEVICES:
        stage.actor("receive_though_it_is_lost", PLACE, half, "mailbox")
    eventually(lambda: len(_readers(stage, "ack")) == len(DEVICES), PATIENCE_S)
    fresh_server.execute("FLUSHALL")
    eventually(lambda: len(box.latest(10)) == 10, PATIENCE_S, reason="senders begin anew")
    for sender in senders:
        sender.kill()

    def told() -> set[str]:
        return {op.process for op in stage.history("told", PLACE) if op.fields["gap"][2] == "reset"}

    eventually(lambda: len(told()) == len(DEVICES), PATIENCE_S, reason="each device is told")
    eventually(lambda: box.status().unread == 0, PATIENCE_S, reason="all is read")
    for process in told():
        own = [op for op in stage.history("fetch", PLACE) if op.process == process]
        after = [op for op in own if op.value["seqs"] or op.value["gap"]]
        [at] = [n for n, op in enumerate(after) if op.value["gap"]]
        for life in (after[:at], after[at:]):
            log: dict[int, Any] = {}
            for op in life:
                for seq, body in zip(op.value["seqs"], op.value["bodies"], strict=True):
                    assert log.setdefault(seq, body) == body, "old and new messages are not mixed"


def _readers(stage: Stage, kind: str) -> set[str]:
    """The processes that have done something of a kind."""
    return {op.process for op in stage.history(kind, PLACE)}
