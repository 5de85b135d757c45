"""Random histories of one chat agree with a model of its guarantees."""

import secrets
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from faults.servers import Server
from holdfast import (
    Batch,
    ChatExists,
    Gap,
    Holdfast,
    Inbox,
    Message,
    NoSuchChat,
    NotAMember,
    StaleBatch,
)

USERS = ["a", "b", "c"]
some_user = st.sampled_from(USERS)
some_device = st.integers(0, 2 * len(USERS) - 1)


class ModelDevice:
    """An inbox object, and what it should remember.

    Attributes:
        seen: the incarnation of the chat that it read last, and the last number in it.
        batches: the batches that it got, each with the incarnation of the chat.
    """

    def __init__(self, user: str, inbox: Inbox) -> None:
        self.user = user
        self.inbox = inbox
        self.seen: tuple[int, int] | None = None
        self.batches: list[tuple[int, Batch]] = []

    def note(self, epoch: int, seq: int) -> None:
        """Record that the device has seen messages up to *seq*."""
        if self.seen is None or self.seen[0] != epoch:
            self.seen = (epoch, seq)
        self.seen = (epoch, max(seq, self.seen[1]))


class ChatMachine(RuleBasedStateMachine):
    server: Holdfast
    keep: Any

    @initialize(keep=st.sampled_from([3, 7, "until_read"]))
    def begin(self, keep: Any) -> None:
        self.keep = keep
        self.name = f"chat-{secrets.token_hex(4)}"
        self.users = {user: f"{user}-{self.name}" for user in USERS}
        self.devices = [
            ModelDevice(self.users[u], self.server.inbox(self.users[u])) for u in USERS * 2
        ]
        self.epoch = 0
        self.bodies: list[int] = []  # of all messages of this incarnation
        self.cursors: dict[str, int] = {}
        self.sent = 0

    @property
    def floor(self) -> int:
        """Return the number of the oldest message that the chat must keep."""
        if self.keep == "until_read":
            return 1 + min(self.cursors.values(), default=0)
        return max(1, len(self.bodies) - self.keep + 1)

    @rule(sender=some_user, members=st.lists(some_user))
    def create(self, sender: str, members: list[str]) -> None:
        self.sent += 1
        users = [self.users[user] for user in members]
        who = self.users[sender]
        if self.cursors:
            with pytest.raises(ChatExists):
                self._create(users, who)
            return
        self._create(users, who)
        self.epoch += 1
        self.bodies = [self.sent]
        self.cursors = dict.fromkeys(users, 0) | {who: 1}

    @rule(user=some_user)
    def send(self, user: str) -> None:
        self.sent += 1
        chat, who = self.server.chat(self.name), self.users[user]
        if who not in self.cursors:
            with pytest.raises(NotAMember if self.cursors else NoSuchChat):
                chat.send(self.sent, sender=who)
            return
        assert chat.send(self.sent, sender=who) == len(self.bodies) + 1
        if self.cursors[who] == len(self.bodies):
            self.cursors[who] += 1
        self.bodies.append(self.sent)

    @rule(user=some_user, start=st.sampled_from(["now", "floor"]))
    def join(self, user: str, start: Any) -> None:
        chat, who = self.server.chat(self.name), self.users[user]
        if not self.cursors:
            with pytest.raises(NoSuchChat):
                chat.join(who, start=start)
            return
        kept = chat.status().first_seq
        assert chat.join(who, start=start) is (who not in self.cursors)
        self.cursors.setdefault(who, kept - 1 if start == "floor" else len(self.bodies))

    @rule(user=some_user)
    def leave(self, user: str) -> None:
        who = self.users[user]
        assert self.server.chat(self.name).leave(who) is (who in self.cursors)
        self.cursors.pop(who, None)

    @rule()
    def all_leave(self) -> None:
        for who in list(self.cursors):
            assert self.server.chat(self.name).leave(who)
        self.cursors = {}

    @rule(number=some_device, limit=st.integers(1, 6))
    def fetch(self, number: int, limit: int) -> None:
        device = self.devices[number]
        found = device.inbox.fetch(limit=limit)
        if device.user not in self.cursors:
            assert found == []
            device.seen = None
            return
        cursor, top = self.cursors[device.user], len(self.bodies)
        first = max(cursor + 1, self.floor)
        gap = Gap(cursor + 1, first - 1, "dropped") if first > cursor + 1 else None
        if device.seen and device.seen[0] != self.epoch:
            gap = Gap(1, device.seen[1], "reset")
        numbers = list(range(first, min(top, first + limit - 1) + 1))
        if not numbers and not gap:
            assert found == []
            device.note(self.epoch, 0)
            return
        [batch] = found
        assert batch.gap == gap
        assert [message.seq for message in batch.messages] == numbers
        assert [m.body for m in batch.messages if isinstance(m, Message)] == [
            self.bodies[seq - 1] for seq in numbers
        ]
        device.note(self.epoch, batch.upto)
        device.batches.append((self.epoch, batch))

    @precondition(lambda self: any(device.batches for device in self.devices))
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        device = data.draw(st.sampled_from([d for d in self.devices if d.batches]))
        epoch, batch = data.draw(st.sampled_from(device.batches))
        if not batch.upto:
            device.inbox.ack(batch)
            return
        if not self.cursors:
            expected: type[Exception] | None = NoSuchChat
        elif device.user not in self.cursors:
            expected = NotAMember
        elif epoch != self.epoch:
            expected = StaleBatch
        else:
            expected = None
        if expected is not None:
            with pytest.raises(expected):
                device.inbox.ack(batch)
            return
        device.inbox.ack(batch)
        self.cursors[device.user] = max(self.cursors[device.user], batch.upto)
        device.note(epoch, batch.upto)

    @invariant()
    def cursors_agree(self) -> None:
        chat = self.server.chat(self.name)
        if not self.cursors:
            with pytest.raises(NoSuchChat):
                chat.members()
            return
        assert dict(chat.members()) == self.cursors
        kept = [message.seq for message in chat.history(limit=100)]
        assert kept == list(range(len(self.bodies) - len(kept) + 1, len(self.bodies) + 1))
        least = len(self.bodies) - self.floor + 1
        assert len(kept) == least or (self.keep == "until_read" and len(kept) > least)

    def _create(self, users: list[str], sender: str) -> None:
        self.server.create_chat(
            users, sender=sender, body=self.sent, chat_id=self.name, keep=self.keep
        )


def check(server: Server, examples: int, steps: int, *, seed: int | None) -> None:
    """Run the state machine. Without a seed, each run is the same."""
    with Holdfast.from_url(server.url, namespace=f"model-{secrets.token_hex(4)}") as hf:
        machine = type("Machine", (ChatMachine,), {"server": hf})
        if seed is not None:
            machine = seeded(seed)(machine)
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                derandomize=seed is None,
                database=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_a_chat_agrees_with_its_model(standalone: Server) -> None:
    check(standalone, 60, 40, seed=None)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_chat_agrees_with_its_model_in_many_histories(standalone: Server, seed: int) -> None:
    check(standalone, 1000, 60, seed=seed)
