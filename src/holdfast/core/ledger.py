"""Identities of writes, so that a repeated one is applied exactly once.

Every write carries a writer and a number. A writer is used by one operation at a time and counts
upwards, so per writer the unit needs to remember only the last number and its answer: the session
slots of NFSv4.1 (RFC 8881, section 2.10.6). The part `lua/parts/ledger.lua` keeps them, in two
hashes by the hour of the server: an entry lives one to two hours, and no cleaner has to run.

An operation with an unknown outcome keeps its writer to itself: nothing else may use the writer
until the number is settled, and settling is up to the user.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Final

from ..errors import DamagedData, OutcomeUnknown, ServerUnavailable
from .names import Unit, encode_name

_LABEL_BYTES: Final = 100

_OURS: Final = re.compile(r"hf:([0-9a-z]{13})\.([1-9][0-9]{0,14})(?::([1-9][0-9]{0,2}))?")


def keys(unit: Unit) -> tuple[str, str]:
    """HASH writer → number and answer: for even and for odd hours. They expire in two hours."""
    return unit.key("ledger:0"), unit.key("ledger:1")


def partly(error: ServerUnavailable, done: str) -> OutcomeUnknown:
    """Return *error* as that of an operation after some of its steps were applied."""
    return OutcomeUnknown(error.action, f"{done}, then {error.reason}")


class Operation:
    """One write: a context that hands its identity back, or says how to repeat it.

    Attributes:
        id: names it for the user, as `op_id`.
        label: names what it makes, such as a task; no blanks, 100 bytes at most.
        writer: who writes, as the ledger knows it.
        number: the how-manieth operation of the writer this is.
        place: of several things that were done together under one number, the how-manieth.
    """

    __slots__ = ("_repeat", "_writers", "id", "label", "number", "place", "writer")

    def __init__(
        self,
        writer: str,
        number: int,
        label: str,
        op_id: str,
        repeat: Callable[..., Any],
        writers: Writers | None,
        place: int = 1,
    ) -> None:
        self.writer = writer
        self.number = number
        self.place = place
        self.label = label
        self.id = op_id
        self._repeat = repeat
        self._writers = writers

    @classmethod
    def named(cls, op_id: str, repeat: Callable[..., Any], verb: str = "") -> Operation:
        """Return the operation that the user calls *op_id*."""
        if ours := _OURS.fullmatch(op_id):
            label, place = op_id.removeprefix("hf:"), int(ours[3] or 1)
            return cls(ours[1], int(ours[2]), label, op_id, repeat, None, place)
        name = encode_name(op_id)
        label = name if len(name) <= _LABEL_BYTES else _digest(name)
        # A user may call two operations the same: their answers must not meet.
        return cls(f"~{verb}~{name}", 1, label, op_id, repeat, None)

    def part(self, i: int) -> str:
        """Return the writer of the *i*-th step of an operation; all steps have the same number.

        No writer of another operation looks like it: neither ours nor encoded names hold a colon.
        """
        return f"{self.writer}:{i}"

    def __enter__(self) -> Operation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OutcomeUnknown):
            error.repeatable(self.id, partial(self._repeat, op_id=self.id))
        # A cancelled operation may still be in progress. No caller repeats it: its writer goes on
        # with the next number: the server refuses the older one if it arrives after that. But the
        # entry of a writer may be what another program damaged: the next operation takes a new one.
        elif self._writers is not None and not isinstance(error, DamagedData):
            self._writers.give_back(self)


class Writers:
    """The writers of one process that are free for the next operation."""

    def __init__(self) -> None:
        self._free: deque[tuple[str, int]] = deque()

    def operation(
        self, op_id: str | None, repeat: Callable[..., Any], *, verb: str = ""
    ) -> Operation:
        """Return a new operation, or the one that the user names again.

        Args:
            op_id: from an `OutcomeUnknown`, or a name that the user chose; None is a new one.
            repeat: does the whole public call once more, with the given `op_id`.
            verb: what the operation does to its unit; needed where several verbs share a unit.
        """
        if op_id is not None:
            return Operation.named(op_id, repeat, verb)
        try:
            writer, number = self._free.pop()
        except IndexError:
            writer, number = new_writer(), 0
        label = f"{writer}.{number + 1}"
        return Operation(writer, number + 1, label, f"hf:{label}", repeat, self)

    def give_back(self, operation: Operation) -> None:
        """Make the writer of *operation* free: the outcome is known."""
        self._free.append((operation.writer, operation.number))


def new_writer() -> str:
    """Return 64 random bits in 13 digits of base 36: unique, and short in every call."""
    number, digits = secrets.randbits(64), ""
    for _ in range(13):
        number, digit = divmod(number, 36)
        digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return digits


def never(op_id: str) -> None:
    """Repeat an internal operation; never called, as its caller asks until it is answered."""
    raise AssertionError(op_id)


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
