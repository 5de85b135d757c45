"""Groups, chains and calls as they are stored: each call with its id, queue and envelope."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ...core.codec import check_size
from ...core.names import MAX_NAME_BYTES
from ...core.trace import TraceContext, added_bytes
from ...errors import DecodeError, InvalidName
from ..call import MAX_TASK_ID_BYTES, Call
from ..enqueue_batch import Packed, packed
from ..envelope import Envelope
from ..headers import stored_bytes
from .members import GROUP_ID, RESULT, Chain, Group, Member, Placeholder

MAX_QUEUES: Final = 64
"""Queues in which the members of one group may be."""

FIRST_QUEUE: Final = ord("0")
NESTED: Final = "-"


class CallNode(msgspec.Struct, frozen=True, tag="call", omit_defaults=True):
    """A call of a group.

    Attributes:
        id: id of the task.
        task: name of the task.
        queue: name of the queue.
        priority: 1 (high) to 3 (low).
        wait: as in `Call.wait`.
        expires: as in `Call.expires`.
        envelope: as it is enqueued, except for the arguments in *into*.
        into: positions and names of the arguments that are replaced by the result of what ran
            before.
        life_ms: how long its group may take.
        size: bytes of the envelope without its trace and headers, which a repeated call may change.
    """

    id: str
    task: str
    queue: str
    priority: int
    wait: str
    expires: str
    envelope: msgspec.Raw
    into: list[int | str] = []
    life_ms: int = 0
    size: int = 0

    @property
    def packed(self) -> Packed:
        """Return the packed task, as it is enqueued."""
        return self.id, self.priority, self.wait, self.expires, bytes(self.envelope)

    def with_result(self, result: Any, *, now: bool = False) -> CallNode:
        """Return the call with *result* in place of the arguments *into*.

        Args:
            result: the result of what ran before.
            now: whether the call is enqueued now, so that its envelope says when.

        Raises:
            PayloadTooLarge: its arguments are over the limit.
        """
        if not (self.into or now):
            return self
        envelope = Envelope.unpacked(bytes(self.envelope), self.id)
        args, kwargs = list(envelope.args), dict(envelope.kwargs)
        for place in self.into:
            if isinstance(place, int):
                args[place] = result
            else:
                kwargs[place] = result
        enqueued_ms = time.time_ns() // 1_000_000
        changed = replace(envelope, args=args, kwargs=kwargs, enqueued_ms=enqueued_ms)
        return replace(self, envelope=msgspec.Raw(changed.packed()), into=[])


class GroupNode(msgspec.Struct, frozen=True, tag="group", omit_defaults=True):
    """A group or a chain.

    Attributes:
        id: id of the group.
        members: the members, in order.
        sequential: whether it is a chain.
        then: see `Group`.
        on_failure: see `Group`.
        max_failures: see `Group`.
        life_ms: how long it may take.
        kept_ms: how long it is kept after its end.
    """

    id: str
    members: list[Node]
    sequential: bool = False
    then: Node | None = None
    on_failure: Node | None = None
    max_failures: int = 0
    life_ms: int = 0
    kept_ms: int = 0

    def with_result(self, result: Any) -> GroupNode:
        """Return the group with *result* in its members; of a chain, only in the first one."""
        members = self.members
        first = members[:1] if self.sequential else members
        changed = [each.with_result(result) for each in first]
        return replace(self, members=[*changed, *members[len(first) :]])

    @property
    def layout(self) -> tuple[list[str], str]:
        """Return the queues of the members, and for each member the index of its queue.

        The list of indexes is empty if all members are in the first queue.

        Raises:
            ValueError: there are too many queues.
        """
        queues: dict[str, str] = {}
        places = []
        for member in self.members:
            if isinstance(member, GroupNode):
                places.append(NESTED)
            else:
                places.append(queues.setdefault(member.queue, chr(FIRST_QUEUE + len(queues))))
        if len(queues) > MAX_QUEUES:
            raise ValueError(f"the members of a group may be in {MAX_QUEUES} queues at most")
        alike = len(queues) == 1 and NESTED not in places
        return list(queues), "" if alike else "".join(places)

    @property
    def definition(self) -> str:
        """Return a digest of the tasks and options of the group, without the arguments."""
        digest = hashlib.blake2b(digest_size=16)
        for text in _texts(self):
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()


Node = CallNode | GroupNode
"""A call, or a group of them."""


def uses_result(node: Node) -> bool:
    """Return whether *node* has an argument that becomes the result of what ran before it."""
    if isinstance(node, CallNode):
        return bool(node.into)
    return any(map(uses_result, node.members[:1] if node.sequential else node.members))


def decoded_node(data: bytes, what: str) -> Node:
    """Return the node in *data*.

    Raises:
        DecodeError: another program has changed it.
    """
    try:
        return msgspec.json.decode(data, type=Node)  # type: ignore[no-any-return]
    except msgspec.MsgspecError as error:
        raise DecodeError(what, str(error)) from None


def encoded_node(node: Node) -> bytes:
    """Return *node* as it is stored until it is called.

    Raises:
        PayloadTooLarge: it is over the limit.
    """
    data = msgspec.json.encode(node)
    check_size(data, f"what group {node.id.rpartition('/')[0]!r} calls later")
    return data


class NodeFactory:
    """Makes the nodes of one group.

    Args:
        trace: the trace in which the group is enqueued.
        life_ms: how long the group may take.
        kept_ms: how long it is kept after its end.

    Attributes:
        limited: the queues of calls with a limit key.
    """

    def __init__(self, trace: TraceContext | None, life_ms: int, kept_ms: int) -> None:
        self.limited: set[str] = set()
        self._trace = trace
        self._life_ms = life_ms
        self._kept_ms = kept_ms
        self._functions: dict[
            tuple[str, str], Callable[..., Any]
        ] = {}  # by names of task and queue

    def whole(self, group: Group | Chain, group_id: str) -> GroupNode:
        """Return the group that is enqueued, as a node.

        Raises:
            ValueError: it asks for a result, but nothing runs before it; or as for `group`.
            PayloadTooLarge, TypeError: as for `group`.
        """
        node = self.group(group, group_id)
        if uses_result(node):
            raise ValueError(
                f"nothing runs before the first members of group {group_id!r}, so they cannot have "
                "the argument RESULT; give it to what follows them"
            )
        return node

    def group(self, group: Group | Chain, group_id: str) -> GroupNode:
        """Return *group* as a node.

        Raises:
            ValueError: an option of a call is not possible in a group, or two calls name the same
                task and queue, but are of two functions.
            PayloadTooLarge: the arguments of a call are over the limit.
            TypeError: an argument is no JSON.
        """
        _check_id(group_id)
        members = [self._member(member, group_id, str(i)) for i, member in enumerate(group.members)]
        lives: dict[str, Any] = {"life_ms": self._life_ms, "kept_ms": self._kept_ms}
        failure = self._callback(group.on_failure, group_id, "failure")
        if isinstance(group, Chain):
            return GroupNode(group_id, members, sequential=True, on_failure=failure, **lives)
        then = self._callback(group.then, group_id, "then")
        return GroupNode(group_id, members, False, then, failure, group.max_failures, **lives)

    def _callback(self, member: Member | None, group_id: str, name: str) -> Node | None:
        return None if member is None else self._member(member, group_id, name)

    def _member(self, member: Member, group_id: str, name: str) -> Node:
        own_id = f"{group_id}/{name}"
        if not isinstance(member, Call):
            return self.group(member, own_id)
        _check_id(own_id)
        call = member.hooked()
        _check_call(call)
        self._check_function(call)
        if call.definition is not None and call.definition.limit is not None:
            self.limited.add(call.queue)
        outermost = group_id.partition("/")[0]
        args = [outermost if arg is GROUP_ID else arg for arg in call.args]
        kwargs = {key: outermost if arg is GROUP_ID else arg for key, arg in call.kwargs.items()}
        into: list[int | str] = [i for i, arg in enumerate(args) if arg is RESULT]
        into += [key for key, arg in kwargs.items() if arg is RESULT]
        call = _with_arguments(call, args, kwargs, into)
        _, priority, wait, expires, envelope = packed(
            call, own_id, self._trace, f"{group_id} {name}"
        )
        size = len(envelope) - added_bytes(self._trace) - stored_bytes(call.headers)
        raw, life_ms = msgspec.Raw(envelope), self._life_ms
        return CallNode(
            *(own_id, call.task, call.queue, priority, wait, expires, raw, into, life_ms, size)
        )

    def _check_function(self, call: Call[Any]) -> None:
        """Raise a ValueError if another call of the same name and queue is of another function.

        A call stores only the name of its task. So a worker that has one of the two registries
        would run its function for both.
        """
        if call.definition is None:
            return
        function = call.definition.function
        other = self._functions.setdefault((call.task, call.queue), function)
        if other is not function:
            raise ValueError(
                f"task {call.task!r} of queue {call.queue!r} is {_named(other)} in one call and "
                f"{_named(function)} in another, from two registries, so a worker could run the "
                "wrong one: give one of them another name or queue"
            )


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{getattr(function, '__module__', '')}.{name}"


def _with_arguments(
    call: Call[Any], args: Sequence[Any], kwargs: Mapping[str, Any], into: Sequence[int | str]
) -> Call[Any]:
    """Return *call* with these arguments; those in *into* are None until the result is known."""
    if not into:
        return replace(call, args=tuple(args), kwargs=kwargs)
    definition = None if call.definition is None else _WithoutModels(call.definition)
    named = {key: None if arg is RESULT else arg for key, arg in kwargs.items()}
    given = tuple(None if arg is RESULT else arg for arg in args)
    return replace(call, args=given, kwargs=named, definition=definition)


class _WithoutModels:
    """The definition of a task with an argument that is not known yet.

    Its arguments are encoded as they are, because a model of pydantic would refuse None.
    """

    def __init__(self, definition: Any) -> None:
        self._definition = definition

    def __getattr__(self, name: str) -> Any:
        return getattr(self._definition, name)

    @property
    def types(self) -> Any:
        return _TypesWithoutModels(self._definition.types)


class _TypesWithoutModels:
    models: Final[Mapping[str, Any]] = {}

    def __init__(self, types: Any) -> None:
        self._types = types

    def __getattr__(self, name: str) -> Any:
        return getattr(self._types, name)


def _check_call(call: Call[Any]) -> None:
    """Raise a ValueError if *call* has an option that is not possible in a group."""
    task, definition = call.task, call.definition
    unique = call.unique
    if unique is None and definition is not None:
        unique = definition.unique
    if unique:
        raise ValueError(
            f"task {task!r} is unique, so a group could wait for a member that was never stored; "
            "in a group write .options(unique=False)"
        )
    if call.task_id is not None:
        raise ValueError(
            f"the call of task {task!r} has a task_id; in a group, ids are made from the id of the "
            "group: give a group_id instead"
        )
    limit = None if definition is None else definition.limit
    waits = any(isinstance(arg, Placeholder) for arg in (*call.args, *call.kwargs.values()))
    if limit is not None and definition is not None and waits:
        if not isinstance(limit.key, tuple):
            raise ValueError(
                f"the limit of task {task!r} has a function as its key, which cannot be computed "
                "before the arguments RESULT and GROUP_ID are known"
            )
        named = definition.types.named(limit.key, call.args, call.kwargs)
        if any(isinstance(arg, Placeholder) for arg in named):
            raise ValueError(
                f"the limit of task {task!r} has an argument as its key that is not known before "
                "it is enqueued: RESULT or GROUP_ID"
            )


def _check_id(own_id: str) -> None:
    if len(own_id) > min(MAX_TASK_ID_BYTES, MAX_NAME_BYTES):
        raise InvalidName(own_id, "the id is too long: groups are nested too deeply")


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node, CallNode):
        yield f"{node.task} {node.queue}"
        return
    yield f"{len(node.members)} {node.sequential} {node.max_failures}"
    for each in (*node.members, node.then, node.on_failure):
        if each is None:
            yield "-"
        else:
            yield from _texts(each)
