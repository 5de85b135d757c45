"""Chats and mailboxes: senders and readers of both halves, some on two devices."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from faults.history import Operation
from faults.matrix.cell_result import Kind, Violation, caught
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from faults.servers import Server
from holdfast.core.names import Namespace
from holdfast.messages import keys
from messages.faults import history_checks
from messages.faults.endpoints import TARGET
from messages.faults.round import FEW, PLENTY, Round, Scenario


class Chats(Workload):
    """One chat."""

    module: ClassVar[str] = "messages.faults.actors"
    kinds: ClassVar[frozenset[str]] = frozenset({"send", "fetch", "handle", "ack"})
    kind: ClassVar[str] = keys.CHAT

    def begin(self) -> None:
        reading = "receive_lossy" if self.lossy else "receive"
        self.scenario = Scenario(self.seed, self.kind, self.keep(), reading=reading)
        # What a round needs of a server is where it is.
        server = cast("Server", self)
        self._round = Round(
            self.scenario, server, self.fork_server, self.scene.folder, self.namespace
        )
        self._round.create()
        super().begin()

    def keep(self) -> int | str:
        """Return how many messages are kept: all of them, in one of two forms."""
        return "until_read" if self.seed % 2 else PLENTY

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(self.kind, TARGET).slot]

    def actors(self) -> list[Actor]:
        return list(self._round.actors(self.url, **self._how()).values())

    def _how(self) -> dict[str, Any]:
        half = self.only_half()
        return {**self.about, "half": half} if half else self.about

    def end(self) -> None:
        """They are killed, as is their way; then each reader reads to the end."""
        for actor in self.scene.actors:
            actor.kill()
        self._round.finish()

    def repeated(self, history: Sequence[Operation]) -> int:
        """Messages that a reader handled more than once."""
        handled = [(op.key, op.fields["seq"]) for op in history if op.kind == "handle"]
        return len(handled) - len(set(handled))

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        if self.lossy:
            return judge_losses(history, self.scenario.readers)
        return judge(history, self.scenario.readers, self.scenario.dropped)


class Mailboxes(Chats):
    """One mailbox; under every other seed it is so small that its owner comes too late."""

    kind: ClassVar[str] = keys.MAILBOX

    def keep(self) -> int | str:
        return FEW if self.seed % 2 and not self.lossy else PLENTY


def judge(
    history: Sequence[Operation], readers: Sequence[str], keep: int | None = None
) -> list[Violation]:
    """Check: one order for all; no silent loss; no cursor that goes back.

    Args:
        history: of senders and readers.
        readers: who were there all the time.
        keep: so many messages are kept whether they are read or not; None: all until they are read.
    """
    found = caught("disordered", history_checks.one_order, history)
    top = history_checks.last_number(history)
    for reader in readers:
        own = [operation for operation in history if operation.key == reader]
        found += caught("lost", history_checks.nothing_is_lost, history, reader)
        found += caught("disordered", history_checks.nothing_is_skipped, own)
        found += caught("stale", history_checks.nothing_is_repeated, own)
        found += caught("lost", history_checks.no_gap_without_need, own, top, keep)
    return found


def judge_losses(history: Sequence[Operation], readers: Sequence[str]) -> list[Violation]:
    """Return acknowledged messages that no reader was shown, if the server may lose them.

    Numbers are given out again then; a reader that was shown more than there is gets a reset.
    """
    found = []
    sent_ns = {
        (op.key, op.fields["number"]): op.return_ns
        for op in history
        if op.kind == "send" and op.outcome == "ok"
    }
    for reader in readers:
        own = [op for op in history if op.key == reader and op.outcome == "ok"]
        fetched = [op for op in own if op.kind == "fetch"]
        shown = {(user, number) for op in fetched for user, number in op.value["bodies"]}
        resets = [op for op in own if op.kind == "gap" and op.fields["gap"][2] == "reset"]
        kind: Kind = "reported" if resets else "lost"
        found += [
            Violation(kind, f"{message} to {reader}", sent_ns[message])
            for message in sorted(sent_ns.keys() - shown)
        ]
    return found
