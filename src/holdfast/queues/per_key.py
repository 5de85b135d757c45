"""`PerKey`: limits for the tasks that have the same key, such as a tenant or a host."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from ..core.checks import checked_int
from ..core.codec import sorted_json
from .unique import Key, checked_key

if TYPE_CHECKING:
    from ..limits.limit import Limit

MAX_CONCURRENCY: Final = 10**6

_TEXT_BYTES: Final = 100
"""Bytes of a name or a key in the envelope; a longer one is stored as a digest."""

_DIGEST_BYTES: Final = 16

_FIELDS: Final = 6

_SAFE: Final = "!$&'()*+,/:;=@"


@dataclass(frozen=True, slots=True, init=False)
class PerKey:
    """Limit how many tasks with the same key run at once, or start in a window of time.

    Attributes:
        key: names of the arguments that make up the key, or a function that computes it.
        concurrency: how many tasks of a key may run at once; None: no limit.
        rate: how many tasks of a key may start in any window of time; None: no limit.
        name: tasks of one queue share the limits of the same name; None: the name of the task.
        fair: whether the keys take turns.
    """

    key: tuple[str, ...] | Callable[..., Any]
    concurrency: int | None
    rate: Limit | None
    name: str | None
    fair: bool

    def __init__(
        self,
        key: Key,
        *,
        concurrency: int | None = None,
        rate: Limit | None = None,
        name: str | None = None,
    ) -> None:
        """Check and keep the limits. At least one of *concurrency* and *rate* is needed.

        Args:
            key: a name, a sequence of names, or a function that gets the arguments of the task and
                returns a value that JSON can store.
            concurrency: how many tasks of a key may run at once, at most a million.
            rate: how many tasks of a key may start in any window of time. Attempts count.
            name: tasks of one queue share the limits of the same name.

        Raises:
            ValueError: no limit is given, or one is out of its range.
            TypeError: an option is of a wrong type.
        """
        if concurrency is None and rate is None:
            raise ValueError("PerKey needs a limit: give concurrency, rate or both")
        self._keep(checked_key(key), concurrency, rate, name, fair=False)

    def _keep(
        self,
        key: tuple[str, ...] | Callable[..., Any],
        concurrency: int | None,
        rate: Limit | None,
        name: str | None,
        *,
        fair: bool,
    ) -> None:
        if isinstance(key, tuple) and not key:
            raise ValueError("the key of a limit needs the name of an argument")
        if concurrency is not None:
            checked_int(concurrency, "concurrency", 1, MAX_CONCURRENCY)
        rate_of(rate)
        if name is not None and (not isinstance(name, str) or not name):
            raise TypeError(f"the name of a limit must be a text, got {name!r}")
        keep = object.__setattr__
        keep(self, "key", key)
        keep(self, "concurrency", concurrency)
        keep(self, "rate", rate)
        keep(self, "name", name)
        keep(self, "fair", fair)

    @classmethod
    def turns(cls, key: Key) -> PerKey:
        """Return limits that let the keys take turns, and limit nothing."""
        limit = cls.__new__(cls)
        limit._keep(checked_key(key), None, None, None, fair=True)  # noqa: SLF001 (its own)
        return limit

    def taking_turns(self) -> PerKey:
        """Return the same limits, with keys that take turns."""
        other = self.turns(self.key)
        other._keep(self.key, self.concurrency, self.rate, self.name, fair=True)  # noqa: SLF001
        return other

    def definition(self) -> str:
        """Return the limits as they are stored; see `lua/parts/limit.lua`."""
        amount, per_ms = rate_of(self.rate)
        return f"{self.concurrency or 0} {amount} {per_ms} {int(self.fair)}"

    def stored_name(self, task: str) -> str:
        """Return the name under which the limits of *task* are stored."""
        return _short(self.name or task)

    def check_names(self, names: Iterable[str], task: str) -> None:
        """Raise a ValueError if the key names an argument that the *task* does not have."""
        known = list(names)
        if isinstance(self.key, tuple):
            for name in self.key:
                if name not in known:
                    has = ", ".join(known) or "none"
                    raise ValueError(
                        f"task {task!r} has no parameter {name!r} for the key of its limit; it has "
                        f"{has}"
                    )

    def packed(
        self,
        task: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        named: Callable[[Sequence[str]], list[Any]],
    ) -> str:
        """Return the field of the envelope with the limits of a call; see `lua/parts/limit.lua`.

        Args:
            task: its name.
            args: its positional arguments, for a function that computes the key.
            kwargs: its keyword arguments, for the same function.
            named: returns the arguments with these names.

        Raises:
            TypeError: JSON cannot store the key.
        """
        values = named(self.key) if isinstance(self.key, tuple) else [self.key(*args, **kwargs)]
        value = values[0] if len(values) == 1 else values
        if not isinstance(value, str):
            value = sorted_json(value, f"the limit key of task {task!r}").decode()
        return f"{self.definition()} {self.stored_name(task)} {_short(value)}"


NO_LIMITS: Final = "0 0 0 0"
"""The definition that a worker stores for a task that has no limits any more."""


def limit_of(limit: PerKey | None, fair_by: Key | None) -> PerKey | None:
    """Combine the options `limit` and `fair_by` of a task. Return None if both are None.

    Raises:
        TypeError: *limit* is not a `PerKey`.
        ValueError: *fair_by* and the key of *limit* differ.
    """
    if limit is not None and not isinstance(limit, PerKey):
        raise TypeError(f"limit must be a PerKey(key, concurrency=…), got {limit!r}")
    if fair_by is None:
        return limit
    turns = PerKey.turns(fair_by)
    if limit is None:
        return turns
    if limit.key != turns.key:
        raise ValueError(
            f"a task has one limit key: fair_by is {fair_by!r}, and the key of its limit is "
            f"{limit.key!r}"
        )
    return limit.taking_turns()


def rate_of(rate: Limit | None) -> tuple[int, int]:
    """Return the amount and the window of a rate (ms); zeros for None."""
    if rate is None:
        return 0, 0
    try:
        amount, per_ms = rate.amount, rate.per_ms
    except AttributeError:
        raise TypeError(f"rate must be a Limit(10, per=1.0), got {rate!r}") from None
    return amount, per_ms


def key_in_limit(packed: Any) -> str:
    """Return the name and the key in a field that `PerKey.packed` made; empty for another value."""
    words = packed.split(" ") if isinstance(packed, str) else []
    return " ".join(map(unquote, words[4:])) if len(words) == _FIELDS else ""


def stored_name(name: str) -> str:
    """Return the name of a limit as it is stored: without blanks, and not long."""
    return _short(name)


def _short(text: str) -> str:
    """Return *text* without blanks and quotes, as readable as possible.

    Raises:
        TypeError: *text* has an unpaired surrogate, which JSON cannot store.
    """
    try:
        safe = quote(text, safe=_SAFE)
    except UnicodeEncodeError as error:
        raise TypeError(f"the limit key or name {text!r} cannot be stored: {error}") from None
    if 0 < len(safe) <= _TEXT_BYTES and safe != "-":
        return safe
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES)
    return "~" + urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
