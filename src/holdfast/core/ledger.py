"""Identify writes, so that a repeated write is applied exactly once.

Every write carries the id of a *writer* and a number. Only one operation at a time uses a writer,
and each one increments the number. So the server stores only the last number of each writer, and
its answer, as the session slots of NFSv4.1 do (RFC 8881, section 2.10.6). `lua/parts/ledger.lua`
stores them in two hashes, one for the even and one for the odd hours of the server. An entry
expires after one to two hours.

If the outcome of an operation is unknown, its writer is not used again: only the user may repeat
the operation, with the same writer and number.
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
from .checks import checked_op_id
from .names import Unit, encode_name

_LABEL_BYTES: Final = 100

_OURS: Final = re.compile(r"hf:([0-9a-z]{13})\.([1-9][0-9]{0,14})(?::([1-9][0-9]{0,2}))?")


def keys(unit: Unit) -> tuple[str, str]:
    """Two hashes, of even and of odd hours: writer → the number of its last write, and its answer.

    Each expires as a whole, within two hours.
    """
    return unit.key("ledger:0"), unit.key("ledger:1")


def partly(error: ServerUnavailable, done: str) -> OutcomeUnknown:
    """Return the error of an operation of several steps if some were applied before *error*.

    *done* describes the applied steps.
    """
    return OutcomeUnknown(error.action, f"{done}, then {error.reason}")


class Operation:
    """The identity of one write. Use it as a context manager around the calls of the write.

    At the end of the context the writer becomes free for other operations, unless the context
    raises `OutcomeUnknown`: then the error gets the identity, so that the user can repeat it.

    Attributes:
        id: the `op_id` that identifies this operation for the user.
        label: id of the object that the operation creates, such as a task: at most 100 bytes
            without blanks.
        writer: id of the writer in the ledger.
        number: number of this operation among those of the writer.
        place: position, from 1, of the object that the `op_id` names, if the operation creates
            several objects.
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
        self.writer: str = writer
        self.number: int = number
        self.place: int = place
        self.label: str = label
        self.id: str = op_id
        self._repeat = repeat
        self._writers = writers

    @classmethod
    def named(cls, op_id: str, repeat: Callable[..., Any], verb: str = "") -> Operation:
        """Return the operation with the *op_id* that the user gave.

        Raises:
            TypeError: *op_id* is not a str.
        """
        checked_op_id(op_id)
        if ours := _OURS.fullmatch(op_id):
            label, place = op_id.removeprefix("hf:"), int(ours[3] or 1)
            return cls(ours[1], int(ours[2]), label, op_id, repeat, None, place)
        name = encode_name(op_id)
        label = name if len(name) <= _LABEL_BYTES else _digest(name)
        # The user may give the same name to operations of different verbs. The verb in the writer
        # keeps their entries apart.
        return cls(f"~{verb}~{name}", 1, label, op_id, repeat, None)

    def part(self, i: int | str) -> str:
        """Return the id of a writer for the step *i* of an operation that writes in several steps.

        Each step is sent with its own writer and with the `number` of the operation. No other
        operation has such a writer: generated ids and encoded names contain no colon.
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
        # The writer of a cancelled operation can be used again, although its request may still
        # arrive, because the server refuses a request that arrives after a higher number. After
        # DamagedData the writer is not used again, because its ledger entry may be damaged.
        elif self._writers is not None and not isinstance(error, DamagedData):
            self._writers.give_back(self)


class Writers:
    """Creates the operations of one process, and reuses writers that are free."""

    def __init__(self) -> None:
        self._free: deque[tuple[str, int]] = deque()

    def operation(
        self, op_id: str | None, repeat: Callable[..., Any], *, verb: str = ""
    ) -> Operation:
        """Return a new operation, or the one with the given *op_id*.

        Args:
            op_id: from an `OutcomeUnknown`, or chosen by the user; None: create a new operation.
            repeat: called with an `op_id` to repeat the whole public call.
            verb: name of the operation; needed if a unit has operations of several names.
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
        """Make the writer of *operation* free for another operation."""
        self._free.append((operation.writer, operation.number))


def new_writer() -> str:
    """Return the id of a new writer: 64 random bits as 13 digits of base 36."""
    number, digits = secrets.randbits(64), ""
    for _ in range(13):
        number, digit = divmod(number, 36)
        digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return digits


def never(op_id: str) -> None:
    """Fill the *repeat* argument of an operation that no user repeats.

    Raises:
        AssertionError: always.
    """
    raise AssertionError(op_id)


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
