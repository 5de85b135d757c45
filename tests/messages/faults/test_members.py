"""Members that leave, are paused, or find that the server lost its data. Each is a process."""

import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from faults.checkers import audit
from faults.history import Operation, read
from faults.nemesis import Nemesis, kill, pause
from faults.nursery import Actor, ForkServer
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, NoSuchChat
from holdfast.core.names import Namespace
from holdfast.messages import keys
from messages.faults.actors import ENTRY_POINT, LEAVABLE
from messages.faults.endpoints import TARGET
from messages.faults.history_checks import nothing_is_skipped
from messages.faults.round import FEW

PATIENCE_S = 60.0
DEVICES = [("jack", "sync"), ("jill", "async")]
BLOCK = 128
"""Messages that may stay longer: the server removes blocks of about 100 messages."""


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer("messages.faults.actors") as fork_server:
        yield fork_server


class ActorGroup:
    """Some actors on one server.

    Attributes:
        hf: a client that no actor uses.
    """

    def __init__(self, server: Server, fork_server: ForkServer, folder: Path) -> None:
        namespace = f"stage-{secrets.token_hex(4)}"
        self.hf = Holdfast.from_url(server.url, namespace=namespace)
        self._about = {"url": server.url, "namespace": namespace, "endpoint": "holdfast"}
        self._fork_server, self._folder = fork_server, folder
        self._actors: list[Actor] = []

    def actor(self, role: str, user: str, half: str, kind: str = "chat") -> Actor:
        about: dict[str, Any] = {**self._about, "role": role, "user": user, "half": half}
        name, folder = f"{role}-{user}-{half}", str(self._folder)
        actor = Actor(self._fork_server, ENTRY_POINT, name=name, kind=kind, folder=folder, **about)
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
def group(fresh_server: Server, fork_server: ForkServer, tmp_path: Path) -> Iterator[ActorGroup]:
    group = ActorGroup(fresh_server, fork_server, tmp_path)
    yield group
    group.close()
    assert "Traceback" not in fork_server.output, fork_server.output


def test_the_last_two_leave_together_despite_kills(
    group: ActorGroup, fresh_server: Server, seed: int
) -> None:
    for chat in LEAVABLE:
        group.hf.create_chat(["a", "b"], sender="a", body=1, chat_id=chat)
    leavers = [group.actor("leave_all", "a", "sync"), group.actor("leave_all", "b", "async")]
    until_s = (
        time.monotonic() + 10
    )  # on a busy machine, actors killed so often make little progress

    def is_empty() -> bool:
        return not group.hf.inbox("a").chats()

    with Nemesis(seed, leavers, actions=(kill, kill, pause), every=(0, 0.05), lasting=(0, 0.02)):
        eventually(lambda: is_empty() or time.monotonic() > until_s)
    eventually(is_empty, PATIENCE_S)
    for user in "ab":
        eventually(lambda user=user: group.history("gone", user), PATIENCE_S)  # type: ignore[misc]
        assert group.hf.inbox(user).chats() == []
    for chat in LEAVABLE:
        with pytest.raises(NoSuchChat):
            group.hf.chat(chat).members()
    with fresh_server.client() as client:
        left = audit(client, f"{group.hf.namespace}:", [f"{group.hf.namespace}:*names*"])
    assert not [name for name in left if "{chat:" in name and ":ledger:" not in name]


@pytest.mark.parametrize("half", ["sync", "async"])
def test_a_paused_reader_costs_only_what_is_kept(
    group: ActorGroup, fresh_server: Server, half: str
) -> None:
    chat = group.hf.create_chat(
        ["jack", "ruth"], sender="jack", body=["jack", 0], chat_id=TARGET, keep=FEW
    )
    reader = group.actor("receive", "ruth", half)
    eventually(lambda: group.history("ack", "ruth"), PATIENCE_S)
    reader.pause()
    shown = chat.status().last_seq
    sender = group.actor("send", "jack", "sync")
    eventually(lambda: chat.status().last_seq > shown + 3 * BLOCK, PATIENCE_S)
    unit = Namespace.of(group.hf.namespace).unit(keys.CHAT, TARGET)
    assert fresh_server.execute("XLEN", keys.log(unit)) <= FEW + BLOCK
    sender.kill()
    reader.resume()
    last = chat.status().last_seq
    eventually(lambda: chat.members()["ruth"] == last, PATIENCE_S)
    gaps = {tuple(op.fields["gap"][1:]) for op in group.history("gap", "ruth")}
    assert gaps == {(last - FEW, "dropped")}, "repeated until it is acknowledged"
    nothing_is_skipped([*group.history("ack", "ruth"), *group.history("fetch", "ruth")])


def test_a_server_that_lost_everything_is_reported_as_a_reset(
    group: ActorGroup, fresh_server: Server
) -> None:
    box = group.hf.mailbox(TARGET)
    box.redefine(capacity=100_000)
    senders = [group.actor("send", user, half, "mailbox") for user, half in DEVICES]
    for _, half in DEVICES:
        group.actor("receive_lossy", TARGET, half, "mailbox")
    eventually(lambda: len(_readers(group, "ack")) == len(DEVICES), PATIENCE_S)
    fresh_server.execute("FLUSHALL")
    eventually(lambda: len(box.latest(10)) == 10, PATIENCE_S, reason="senders send again")
    for sender in senders:
        sender.kill()

    def with_reset() -> set[str]:
        return {op.process for op in group.history("gap", TARGET) if op.fields["gap"][2] == "reset"}

    eventually(
        lambda: len(with_reset()) == len(DEVICES), PATIENCE_S, reason="each device gets a reset"
    )
    eventually(lambda: box.status().unread == 0, PATIENCE_S, reason="all is read")
    for process in with_reset():
        own = [op for op in group.history("fetch", TARGET) if op.process == process]
        after = [op for op in own if op.value["seqs"] or op.value["gap"]]
        [at] = [n for n, op in enumerate(after) if op.value["gap"]]
        for part in (after[:at], after[at:]):
            log: dict[int, Any] = {}
            for op in part:
                for seq, body in zip(op.value["seqs"], op.value["bodies"], strict=True):
                    assert log.setdefault(seq, body) == body, "old and new messages are not mixed"


def _readers(group: ActorGroup, kind: str) -> set[str]:
    """Return the processes with an operation of this kind."""
    return {op.process for op in group.history(kind, TARGET)}
