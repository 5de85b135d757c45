"""`Unique`: let a queue hold only one task for each key."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, overload

from ..core.clock import Duration, not_early_ms, to_ms
from ..core.codec import sorted_json
from .retry import from_now_s

Until = Literal["start", "end"]
When = Literal["skip", "replace", "postpone", "raise"]
Key = str | Sequence[str] | Callable[..., Any]

DIGEST_BYTES: Final = 16
"""Bytes of a key. Two of a billion keys are equal with a probability of 10⁻²¹."""

_PACKED: Final = re.compile(r"[0-9a-z]+ [a-z]+ [0-9]+ ([0-9A-Za-z_-]+)")


@dataclass(frozen=True, slots=True, init=False)
class Unique:
    """Let a queue hold one task for each key; a later call with the key does not add a second one.

    Attributes:
        key: names of the arguments that make up the key, or a function that computes it; None: all
            arguments.
        until: how long a task holds its key: `start`, until its first attempt starts; `end`, until
            it is done, dead or removed; or seconds: until so long after it is done.
        when: what happens to a call if another task holds its key.
        at_most: seconds by which `postpone` delays a task in all; None: without limit.
    """

    key: tuple[str, ...] | Callable[..., Any] | None
    until: Until | float
    when: When
    at_most: float | None

    def __init__(
        self,
        *,
        key: Key | None = None,
        until: Until | Duration = "end",
        when: When = "skip",
        at_most: Duration | None = None,
    ) -> None:
        """Check and keep the settings.

        Args:
            key: a name, a sequence of names (empty: all calls of the task have the same key), or a
                function that gets the arguments of the task and returns a value that JSON can
                store. Tasks of other names and other queues have other keys.
            until: `start`, `end`, or seconds (or a timedelta), less than a billion. A task that is
                dead or was removed holds no key.
            when: `skip`: nothing changes; `raise`: the call raises `TaskExists`; `replace`: the
                waiting task gets the arguments and options of this call; `postpone`: it also
                starts when this call would start, if that is later. A task that runs, or is done,
                is never changed: then `replace` and `postpone` do as `skip`.
            at_most: counts from when the task was enqueued; only with `postpone`.

        Raises:
            ValueError: an option is out of its range, or *at_most* is given without `postpone`.
            TypeError: an option is of a wrong type.
        """
        if when not in get_args(When):
            expected = ", ".join(map(repr, get_args(When)))
            raise ValueError(f"when must be one of {expected}, got {when!r}")
        if at_most is not None and when != "postpone":
            raise ValueError("at_most limits how long a task is postponed: give when='postpone'")
        keep = object.__setattr__
        keep(self, "key", checked_key(key))
        keep(self, "until", _checked_until(until))
        keep(self, "when", when)
        keep(self, "at_most", None if at_most is None else _seconds(at_most, "at_most"))

    def check_names(self, names: Iterable[str], task: str) -> None:
        """Raise a ValueError if the key names an argument that the *task* does not have."""
        known = list(names)
        if isinstance(self.key, tuple):
            for name in self.key:
                if name not in known:
                    has = ", ".join(known) or "none"
                    raise ValueError(
                        f"task {task!r} has no parameter {name!r} for the key of Unique; it has "
                        f"{has}"
                    )

    def packed(
        self,
        task: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> str:
        """Return the field of the envelope with the key of a call; see `lua/parts/unique.lua`.

        Args:
            task: name of the task.
            args: positional arguments of the call, for a function that computes the key.
            kwargs: keyword arguments of the call, for the same function.
            given: all arguments that are not equal to their default, by name.

        Raises:
            TypeError: JSON cannot store the key.
        """
        value: Any
        if self.key is None:
            value = dict(given)
        elif isinstance(self.key, tuple):
            value = {name: given[name] for name in self.key if name in given}
        else:
            value = [self.key(*args, **kwargs)]
        text = sorted_json([task, value], f"the unique key of task {task!r}")
        digest = hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()
        key = urlsafe_b64encode(digest).rstrip(b"=").decode()
        lasts = self.until if isinstance(self.until, str) else not_early_ms(self.until)
        at_most_ms = not_early_ms(self.at_most or 0.0)
        return f"{lasts} {self.when} {at_most_ms} {key}"

    def check_wait(self, wait: str, task: str) -> None:
        """Raise a ValueError if a call with this `Call.wait` cannot be postponed."""
        if self.when != "postpone":
            return
        if wait == "0":
            raise ValueError(
                f"task {task!r} has Unique(when='postpone'), so its calls need a delay: "
                "task.call(…).options(delay=…)"
            )
        if self.at_most is not None and wait[0] == "+" and int(wait[1:]) > self.at_most * 1000:
            raise ValueError(f"the delay of task {task!r} is longer than at_most of its Unique")


def checked_unique(unique: Any) -> Unique | Literal[False] | None:
    """Return *unique*, or raise a TypeError that says what to write."""
    if unique is None or unique is False or isinstance(unique, Unique):
        return unique
    raise TypeError(f"unique must be a Unique(key=…), False or None, got {unique!r}")


def key_in(packed: Any) -> str:
    """Return the key in a field that `Unique.packed` made; empty for any other value."""
    found = _PACKED.fullmatch(packed) if isinstance(packed, str) else None
    return found[1] if found else ""


@overload
def checked_key(key: None) -> None: ...
@overload
def checked_key(key: Key) -> tuple[str, ...] | Callable[..., Any]: ...
def checked_key(key: Any) -> tuple[str, ...] | Callable[..., Any] | None:
    """Return *key* with the names as a tuple, or raise why it cannot be a key."""
    if key is None or callable(key):
        return key  # type: ignore[no-any-return]
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"key must be names of arguments or a function, got {key!r}")
    return tuple(names)


def _checked_until(until: Any) -> Until | float:
    if isinstance(until, str):
        if until not in get_args(Until):
            raise ValueError(f"until must be 'start', 'end' or seconds, got {until!r}")
        return until  # type: ignore[return-value]
    return _seconds(until, "until")


def _seconds(duration: Duration, what: str) -> float:
    return from_now_s(to_ms(duration, what) / 1000, what)
