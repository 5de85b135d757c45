"""What a group consists of: calls, chains and other groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...core.checks import checked_int
from ..call import Call
from ..registry import Task

MAX_MEMBERS: Final = 100_000
"""Members of one group at most. A member may be a group."""

MAX_STEPS: Final = 1_000
"""Members of one chain at most."""


class Placeholder:
    """An argument that gets its value when the task is enqueued.

    Args:
        name: as users write it.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        """Return the name."""
        return self._name


RESULT: Final[Any] = Placeholder("RESULT")
"""An argument of a call: the result of what ran before it.

In a chain that is the result of the member before. In a callback of a group it is the list of the
results of the members, in their order, with None for each that has no result.
"""

GROUP_ID: Final[Any] = Placeholder("GROUP_ID")
"""An argument of a call: the id of the group that was enqueued; in a nested group, too, it is that
of the outermost group.
"""


@dataclass(frozen=True, slots=True)
class Chain:
    """Calls, groups and chains that run one after the other. Made by `chain`.

    Attributes:
        members: what runs, in order.
        on_failure: what is enqueued when a member has failed.
    """

    members: tuple[Member, ...]
    on_failure: Member | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Calls, groups and chains that run at the same time. Made by `group`.

    Attributes:
        members: what runs.
        then: what is enqueued when all members have ended, and not too many have failed.
        on_failure: what is enqueued when too many members have failed.
        max_failures: how many members may fail.
    """

    members: tuple[Member, ...]
    then: Member | None = None
    on_failure: Member | None = None
    max_failures: int = 0


Member = Call[Any] | Chain | Group
"""A member of a group or a chain, or a callback."""


def chain(*members: Member | Task[..., Any], on_failure: Member | None = None) -> Chain:
    """Return a chain: its members run one after the other. A member that has failed ends the chain.

    A member gets the result of the one before where its call has the argument `RESULT`. A task
    instead of a call stands for `task.call(RESULT)`.

    Args:
        members: what runs, at most 1,000.
        on_failure: is enqueued once, when a member has failed.

    Raises:
        ValueError: there are no members, or too many.
        TypeError: a member is neither a call, a group nor a chain.
    """
    _check_not_empty(members, "a chain")
    if len(members) > MAX_STEPS:
        raise ValueError(f"a chain takes {MAX_STEPS:,} members at most, got {len(members):,}")
    first, *others = members
    found = (checked_member(first), *(checked_member(_following(each)) for each in others))
    return Chain(found, None if on_failure is None else checked_member(on_failure))


def group(
    members: Iterable[Member],
    *,
    then: Member | None = None,
    on_failure: Member | None = None,
    max_failures: int = 0,
) -> Group:
    """Return a group, as a member of another group or of a chain. Its members run concurrently.

    The arguments are those of `Holdfast.enqueue_group`.

    Raises:
        ValueError: there are no members, or too many; or *max_failures* is out of its range.
        TypeError: a member or a callback is neither a call, a group nor a chain.
    """
    return _group(members, "a group", then, on_failure, max_failures)


def _group(
    members: Iterable[Member],
    what: str,
    then: Member | None,
    on_failure: Member | None,
    max_failures: int,
) -> Group:
    """Return a group with these members and options. Errors call it *what*."""
    if isinstance(members, Call | Chain | Group) or not isinstance(members, Iterable):
        raise TypeError("a group takes several members: give a list of calls")
    found = tuple(checked_member(each) for each in members)
    _check_not_empty(found, what)
    if len(found) > MAX_MEMBERS:
        raise ValueError(f"a group takes {MAX_MEMBERS:,} members at most, got {len(found):,}")
    return Group(
        found,
        None if then is None else checked_member(then),
        None if on_failure is None else checked_member(on_failure),
        checked_int(max_failures, "max_failures", 0, MAX_MEMBERS),
    )


def group_of(
    members: Iterable[Member] | Chain | Group,
    then: Member | None,
    on_failure: Member | None,
    max_failures: int,
    group_id: str | None,
) -> Group | Chain:
    """Return the group or chain for the arguments of `enqueue_group`.

    Raises:
        ValueError: the members are a group or a chain, and there are options as well.
        TypeError: as for `group`.
    """
    if not isinstance(members, Chain | Group):
        what = "a group" if group_id is None else f"group {group_id!r}"
        return _group(members, what, then, on_failure, max_failures)
    if then is not None or on_failure is not None or max_failures:
        made = "chain" if isinstance(members, Chain) else "group"
        raise ValueError(f"give these options to {made}(…), not to enqueue_group")
    return members


def checked_member(member: Any) -> Member:
    """Return *member*, or raise a TypeError that says what to write."""
    if isinstance(member, Call | Chain | Group):
        return member
    name = getattr(member, "name", "task")
    raise TypeError(
        f"expected a call such as {name}.call(…), a group or a chain, got {type(member).__name__}"
    )


def _check_not_empty(members: Sequence[Any], what: str) -> None:
    if not members:
        raise ValueError(
            f"{what} needs at least one member, and got none; nothing is stored. If a list may be "
            "empty, check it, and enqueue what follows the members instead"
        )


def _following(member: Member | Task[..., Any]) -> Member:
    return member.call(RESULT) if isinstance(member, Task) else member
