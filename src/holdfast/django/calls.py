"""Convert tasks of Django to calls of Holdfast, and enqueue calls when a transaction commits."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.tasks import DEFAULT_TASK_BACKEND_ALIAS, Task

from .. import Call
from .backend import backend_of, configured_backend
from .stored_task import ResultId


class TaskCall(Call[Any], frozen=True, eq=False):
    """A task of Django with its arguments.

    Attributes:
        backend: the alias of the backend of the task.
    """

    backend: str = DEFAULT_TASK_BACKEND_ALIAS


def task_call(task: Task, *args: Any, **kwargs: Any) -> Call[Any]:
    """Return a call of a task of Django, for `enqueue_on_commit` and `outbox_enqueue`.

    Args:
        task: a task with a `HoldfastBackend`, also with other options: `task.using(…)`.
        args: positional arguments of the task.
        kwargs: keyword arguments of the task.

    Raises:
        InvalidTask: the task cannot run, or no worker would find it.
        TypeError: the task has another backend, or an argument is no JSON.
    """
    call = backend_of(task).call(task, args, kwargs)
    return TaskCall(**msgspec.structs.asdict(call), backend=task.backend)


def identified(call: Any) -> Call[Any]:
    """Return *call* with a task id: its own, or a new one if it has none.

    Raises:
        TypeError: *call* is no `Call`.
    """
    if not isinstance(call, Call):
        got = type(call).__name__
        raise TypeError(f"expected task_call(task, …), or task.call(…) of a registry, got {got}")
    if call.task_id is not None:
        return call
    return call.options(task_id=ResultId.new(call.queue).task_id)


def enqueue_on_commit(
    call: Call[Any], *, using: str | None = None, backend: str | None = None
) -> str:
    """Enqueue *call* after the transaction commits; at once if there is no transaction.

    The task is lost if the process is killed after the commit and before the call is enqueued, or
    if the server is unavailable then. `outbox_enqueue` does not lose tasks.

    Args:
        call: the result of `task.call(…)` of a `TaskRegistry`, or of `task_call`.
        using: the alias of the database; None: the default one.
        backend: the alias of the backend with the server and the namespace; None: the backend of
            the task, and the default one for calls of a `TaskRegistry`.

    Returns:
        `queue:task_id`, which is the id of the result for `get_result`.

    Raises:
        TypeError: *call* is no call.
    """
    call = identified(call)
    if backend is None:
        backend = call.backend if isinstance(call, TaskCall) else DEFAULT_TASK_BACKEND_ALIAS
    client = configured_backend(backend).client
    transaction.on_commit(partial(client.enqueue, call), using=using)
    return str(ResultId(call.queue, str(call.task_id)))
