"""Checks of a history of senders and readers of one chat or mailbox.

The `key` of an operation is its user. Kinds of operations: `send` (number; its value is the number
of the message in the log), `fetch` (seqs, bodies, gap), `gap` (the reader has seen a gap), `handle`
(seq), `ack` (upto). Each function raises an AssertionError that describes the violation.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from faults.history import Operation

SHOWN = 10


def check(history: Sequence[Operation], readers: Iterable[str], keep: int | None) -> None:
    """Check all guarantees.

    Args:
        history: operations of all actors, until the readers have read all messages.
        readers: users who were members all the time.
        keep: how many messages are kept, read or not; None: all until they are read, so that there
            are no gaps.
    """
    one_order(history)
    for reader in readers:
        own = [operation for operation in history if operation.key == reader]
        nothing_is_lost(history, reader)
        nothing_is_skipped(own)
        nothing_is_repeated(own)
        no_gap_without_need(own, last_number(history), keep)


def one_order(history: Sequence[Operation]) -> None:
    """Check that all users get the same messages with the same numbers, in the order of sending."""
    log: dict[int, list[Any]] = {}
    for fetch in _ok(history, "fetch"):
        for seq, body in zip(fetch.value["seqs"], fetch.value["bodies"], strict=True):
            assert log.setdefault(seq, body) == body, f"two messages have the number {seq}: {fetch}"
    numbers = [(user, number) for _, (user, number) in sorted(log.items())]
    assert len(set(numbers)) == len(numbers), f"sent once, stored twice: {_twice(numbers)}"
    attempts = {(send.key, send.fields["number"]) for send in _all(history, "send")}
    assert attempts.issuperset(numbers), f"stored, but never sent: {set(numbers) - attempts}"
    for send in _ok(history, "send"):
        body = log.get(send.value, [send.key, send.fields["number"]])
        assert body == [send.key, send.fields["number"]], f"{send} is stored as {body}"
    for user in {user for user, _ in numbers}:
        own = [number for sender, number in numbers if sender == user]
        assert own == sorted(own), f"of {user} in another order: {own}"
    _respects_time(history)


def _respects_time(history: Sequence[Operation]) -> None:
    """Check that a message sent after the end of another send has a higher number."""
    began: dict[tuple[str, int], int] = {}
    ended: list[tuple[int, int]] = []
    found: dict[tuple[str, int], int] = {}
    for send in sorted(_all(history, "send"), key=lambda send: send.invoke_ns):
        name = (send.key, send.fields["number"])
        began.setdefault(name, send.invoke_ns)  # of a repeated send: the first attempt
        if send.outcome == "ok" and send.return_ns is not None:
            found[name] = send.value
            ended.append((send.return_ns, send.value))
    ended.sort()
    newest = position = 0
    for name in sorted(found, key=began.__getitem__):
        while position < len(ended) and ended[position][0] < began[name]:
            newest = max(newest, ended[position][1])
            position += 1
        assert found[name] > newest, f"{name} has the number {found[name]}, sent after {newest}"


def nothing_is_lost(history: Sequence[Operation], reader: str) -> None:
    """Check that the reader handled each message, or got a gap for it."""
    own = [operation for operation in history if operation.key == reader]
    known = {operation.fields["seq"] for operation in _ok(own, "handle")}
    for operation in _ok(own, "gap"):
        first, last, _ = operation.fields["gap"]
        known |= set(range(first, last + 1))
    lost = sorted(set(range(1, last_number(history) + 1)) - known)
    assert not lost, f"{len(lost)} lost, never handled by {reader}: {lost[:SHOWN]}"


def nothing_is_skipped(own: Sequence[Operation]) -> None:
    """Check that batches have no holes, and begin at the first unacknowledged message or before."""
    acks = _all(own, "ack")
    for fetch in _with_news(own):
        seqs, gap = fetch.value["seqs"], fetch.value["gap"]
        shown = [*(gap[:2] if gap else []), *seqs]
        for one, next_one in pairwise(seqs):
            assert next_one == one + 1, f"a hole after {one}: {fetch}"
        assert not gap or not seqs or seqs[0] == gap[1] + 1, f"a hole after a gap: {fetch}"
        done = [ack.fields["upto"] for ack in acks if ack.invoke_ns < _end(fetch)]
        latest = max(done, default=0)
        assert shown[0] <= latest + 1, f"acknowledged was at most {latest}: {fetch}"


def nothing_is_repeated(own: Sequence[Operation]) -> None:
    """Check that a fetch does not return what was acknowledged before it."""
    acks = _ok(own, "ack")
    for fetch in _with_news(own):
        done = [ack.fields["upto"] for ack in acks if _end(ack) < fetch.invoke_ns]
        first = fetch.value["gap"][0] if fetch.value["gap"] else fetch.value["seqs"][0]
        assert first > max(done, default=0), f"acknowledged up to {max(done)} before: {fetch}"


def no_gap_without_need(own: Sequence[Operation], top: int, keep: int | None) -> None:
    """Check that only messages beyond the limits are dropped, and none is reported as lost."""
    for fetch in _with_news(own):
        if gap := fetch.value["gap"]:
            assert keep is not None, f"nothing was to be dropped: {fetch}"
            assert gap[2] == "dropped", f"the server lost nothing: {fetch}"
            assert gap[1] <= top - keep, f"of {top} messages {keep} are kept: {fetch}"


def last_number(history: Iterable[Operation]) -> int:
    """Return the highest number in the history."""
    shown = [seq for fetch in _ok(history, "fetch") for seq in fetch.value["seqs"]]
    return max([*shown, *(send.value for send in _ok(history, "send"))], default=0)


def _with_news(own: Iterable[Operation]) -> Iterator[Operation]:
    return (fetch for fetch in _ok(own, "fetch") if fetch.value["seqs"] or fetch.value["gap"])


def _all(history: Iterable[Operation], kind: str) -> list[Operation]:
    return [operation for operation in history if operation.kind == kind]


def _ok(history: Iterable[Operation], kind: str) -> list[Operation]:
    return [operation for operation in _all(history, kind) if operation.outcome == "ok"]


def _end(operation: Operation) -> int:
    assert operation.return_ns is not None
    return operation.return_ns


def _twice(numbers: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted({each for each in numbers if numbers.count(each) > 1})[:SHOWN]
