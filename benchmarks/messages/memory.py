"""What messages and members take of the server's memory.

The server's `used_memory` less what it was before, with the same connections: all keys and slack
count. A member is counted in its second chat and later ones: the list of its chats is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast import Holdfast
from holdfast.messages.options import Keep

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target

MESSAGES: Final = 20_000
MEMBERS: Final = [f"member-{n}" for n in range(1_000)]
CHATS: Final = 10

MESSAGE_TARGET: Final = 200
MEMBER_TARGET: Final = 160

BODY: Final = b"x" * 100


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Once: this hardly varies."""
    with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf:
        hf.mailbox("any").send(BODY, sender="any")  # connects, and has the server learn scripts
        per_message = [_per_message(bench, hf, where) for where in ("chat", "mailbox")]
        bench.server.clear()
        first = _per_member(bench, hf, "first", 1, 1)
        kept = _per_member(bench, hf, "kept", CHATS, 1_000)
        before = bench.server.memory()
        silent = _per_member(bench, hf, "silent", CHATS, "until_read")
        for n in range(CHATS):
            _acknowledge(hf, f"silent{n}")
        lively = (bench.server.memory() - before) / (CHATS * len(MEMBERS))
    rows: list[list[Cell]] = [
        ["message of 100 bytes in a chat", per_message[0]],
        ["message of 100 bytes in a mailbox", per_message[1]],
        ["member, in its first chat", first],
        ["member, in one chat more", kept],
        ["member, in one chat more, until_read", silent],
        ["the same after a sign of life", lively],
    ]
    targets = [
        Target("bytes per message", max(per_message), MESSAGE_TARGET, at_least=False),
        Target("bytes per member, keep=n", kept, MEMBER_TARGET, at_least=False),
        Target("bytes per member, until_read", lively, MEMBER_TARGET, at_least=False),
    ]
    yield Table("server memory", ("what", "bytes each"), rows, targets)


def _per_message(bench: BenchmarkRun, hf: Holdfast, where: str) -> float:
    bench.server.clear()
    count = bench.scaled(MESSAGES)
    if where == "chat":
        place = hf.create_chat(["a", "b"], sender="a", body=BODY, keep=100_000)
        before = bench.server.memory()
        for _ in range(count):
            place.send(BODY, sender="a")
    else:
        box = hf.mailbox("box", capacity=100_000)
        box.send(BODY, sender="a")
        before = bench.server.memory()
        for _ in range(count):
            box.send(BODY, sender="a")
    return (bench.server.memory() - before) / count


def _acknowledge(hf: Holdfast, chat_id: str) -> None:
    """Let each member have read what there is."""
    for member in MEMBERS:
        inbox = hf.inbox(member)
        for batch in inbox.fetch():
            if batch.source == chat_id:
                inbox.ack(batch)


def _per_member(bench: BenchmarkRun, hf: Holdfast, name: str, chats: int, keep: Keep) -> float:
    before = bench.server.memory()
    for n in range(chats):
        hf.create_chat(MEMBERS, sender=MEMBERS[0], body=1, chat_id=f"{name}{n}", keep=keep)
    return (bench.server.memory() - before) / (chats * len(MEMBERS))
