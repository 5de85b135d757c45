"""Options of a feed, as the server stores them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, get_args

import msgspec

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms
from ..core.names import encode_name
from ..errors import DecodeError

Mode = Literal["broadcast", "share"]

DEFAULT_BUDGET: Final = 2**28
DEFAULT_LEASE_S: Final = 30.0
MIN_BUDGET: Final = 2**20
MAX_BUDGET: Final = 2**40
MAX_CONSUMERS: Final = 100


class FeedOptions(msgspec.Struct, frozen=True):
    """The options of a feed.

    Attributes:
        mode: `broadcast`: each consumer gets each file; `share`: one consumer gets each file.
        budget: bytes of the server's memory that the feed may use.
        lease_ms: milliseconds after its last call at which a consumer counts as dead.
        consumers: sorted names of the consumers. With `share` it may be empty; then any consumer
            may read.
    """

    mode: Mode
    budget: int
    lease_ms: int
    consumers: tuple[str, ...]

    @classmethod
    def checked(
        cls,
        consumers: Iterable[str] | None,
        budget: int | None,
        mode: Mode | None,
        lease: Duration | None,
    ) -> FeedOptions | None:
        """Return the options that a user gives, with defaults for missing ones; None if all are
        None.

        Raises:
            ValueError, TypeError: An option is not valid.
        """
        if (consumers, budget, mode, lease) == (None, None, None, None):
            return None
        mode = "broadcast" if mode is None else mode
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be 'broadcast' or 'share', got {mode!r}")
        names = _checked_names(consumers)
        if not names and mode == "broadcast":
            raise ValueError("a feed needs the names of its consumers, unless they share the files")
        return cls(
            mode,
            checked_budget(DEFAULT_BUDGET if budget is None else budget),
            checked_lease(DEFAULT_LEASE_S if lease is None else lease),
            names,
        )

    @classmethod
    def parse(cls, packed: bytes, key: str) -> FeedOptions:
        """Return the options in the value *packed* of *key*.

        Raises:
            DecodeError: The value is not valid.
        """
        try:
            found = msgspec.msgpack.decode(packed, type=cls)
            checked_budget(found.budget)
            checked_lease(found.lease_ms / 1000)
            _checked_names(found.consumers)
        except (msgspec.DecodeError, ValueError, OverflowError) as error:
            raise DecodeError(f"the definition in {key}", str(error)) from None
        return found

    def becomes(self, other: FeedOptions) -> bool:
        """Return whether `redefine` may change these options to *other*.

        It can change neither the mode nor the consumers.
        """
        return (self.mode, self.consumers) == (other.mode, other.consumers)

    def packed(self) -> bytes:
        """Return the value that the server stores."""
        return msgspec.msgpack.encode(self)

    def __str__(self) -> str:
        who = ", ".join(self.consumers) or "anybody"
        return f"{self.mode} to {who}; {self.budget:,} bytes; lease {self.lease_ms / 1000:g} s"


def checked_budget(budget: Any) -> int:
    """Return *budget* if it is valid."""
    return checked_int(budget, "budget", MIN_BUDGET, MAX_BUDGET, unit="bytes")


def checked_lease(lease: Duration) -> int:
    """Return *lease* in milliseconds."""
    lease_ms = to_ms(lease, "lease")
    if lease_ms < 1000:
        raise ValueError(f"lease must be at least 1 s, got {lease_ms / 1000:g} s")
    return lease_ms


def _checked_names(consumers: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(consumers, str):
        raise TypeError("consumers must be a list of names, not one str")
    names = tuple(sorted(set(consumers or ())))
    for name in names:
        encode_name(name)
    if len(names) > MAX_CONSUMERS:
        raise ValueError(f"a feed has at most {MAX_CONSUMERS} named consumers, not {len(names)}")
    return names
