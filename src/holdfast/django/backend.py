"""Define the backend for `django.tasks` that enqueues tasks in Holdfast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.tasks import Task, TaskResult, TaskResultStatus
from django.tasks.exceptions import InvalidTask
from django.tasks.signals import task_enqueued
from django.utils import timezone
from django.utils.json import normalize_json

from .. import Call, Holdfast
from .clients import client_of
from .found_tasks import check_is_found
from .options import BackendOptions, known_options, unknown_options
from .results import read_result
from .stored_task import (
    MAX_QUEUE_CHARACTERS,
    ResultId,
    as_configured,
    headers_of,
    level_of,
)

if TYPE_CHECKING:
    from .typed_bases import BaseTaskBackend
else:
    from django.tasks.backends.base import BaseTaskBackend


class HoldfastBackend(BaseTaskBackend):
    """Runs the tasks of `django.tasks` with the promises of Holdfast.

    Configure it in the setting `TASKS`, and run workers by `manage.py holdfast_worker`; see
    `docs/django.md`.

    Args:
        alias: name of the backend in the setting.
        params: `QUEUES` and `OPTIONS` of the setting.

    Attributes:
        settings: the options of the backend.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self.settings: BackendOptions = BackendOptions.of(self.options)

    @property
    def client(self) -> Holdfast:
        """Return the client, which the backends of all threads share.

        Raises:
            ImproperlyConfigured: the options name no server.
        """
        self.check_server()
        return client_of(self.settings.server)

    def check_server(self) -> None:
        """Raise ImproperlyConfigured if the options name no server. Do not connect to it."""
        if problem := self.settings.server.problem():
            raise ImproperlyConfigured(f"TASKS[{self.alias!r}]['OPTIONS']: {problem}")

    def validate_task(self, task: Task) -> None:
        """Raise InvalidTask if this backend cannot run *task*."""
        super().validate_task(task)
        if len(task.queue_name) > MAX_QUEUE_CHARACTERS:
            raise InvalidTask(
                f"Queue '{task.queue_name}' is not valid: its name may have at most "
                f"{MAX_QUEUE_CHARACTERS} characters, because ids of results contain it."
            )

    def call(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call[Any]:
        """Return a call of Holdfast that runs *task*, with the id that the new task will have.

        Raises:
            InvalidTask: the task cannot run, or no worker would find it.
            TypeError: an argument is no JSON.
        """
        self.validate_task(task)
        check_is_found(task, self.settings.modules)
        call: Call[Any] = Call(
            task.module_path,
            task.queue_name,
            level_of(task.priority),
            tuple(normalize_json(args)),
            normalize_json(kwargs),
        )
        at = task.run_after
        if at is not None and timezone.is_naive(at):
            at = timezone.make_aware(at)
        task_id = ResultId.new(task.queue_name).task_id
        return call.options(task_id=task_id, at=at, headers=headers_of(task))

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Enqueue *task*. When it returns, the server has the task.

        Raises:
            InvalidTask: the task cannot run, or no worker would find it.
            HoldfastError: the server did not accept the task; see `Holdfast.enqueue`.
        """
        call = self.call(task, args, kwargs)
        handle = self.client.enqueue(call)
        result = TaskResult(
            task=task,
            id=str(ResultId(handle.queue, handle.task_id)),
            status=TaskResultStatus.READY,
            enqueued_at=as_configured(datetime.now(UTC)),
            started_at=None,
            last_attempted_at=None,
            finished_at=None,
            args=list(call.args),
            kwargs=dict(call.kwargs),
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """Return the result with this id, from any process.

        Raises:
            TaskResultDoesNotExist: there is no such result, or it is not kept any more.
        """
        return read_result(self.client, result_id, alias=self.alias, modules=self.settings.modules)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Return what is wrong with the options. Do not connect to the server."""
        where = f"TASKS[{self.alias!r}]"
        found: list[CheckMessage] = list(super().check(**kwargs))
        if unknown := unknown_options(self.options):
            message = f"{where} has unknown options: {', '.join(unknown)}."
            found.append(Error(message, hint=f"There are {known_options()}.", id="holdfast.E001"))
        found += [
            Error(f"{where}['OPTIONS']: {problem}", id="holdfast.E002")
            for problem in self.settings.problems()
        ]
        for queue in sorted(self.queues):
            if len(queue) > MAX_QUEUE_CHARACTERS:
                message = f"{where}['QUEUES']: the name {queue!r} is too long."
                hint = f"Ids of results contain it: use at most {MAX_QUEUE_CHARACTERS} characters."
                found.append(Error(message, hint=hint, id="holdfast.E003"))
        return found


def backend_of(task: Task) -> HoldfastBackend:
    """Return the backend of *task*.

    Raises:
        TypeError: the backend is no `HoldfastBackend`.
    """
    backend = task.get_backend()
    if not isinstance(backend, HoldfastBackend):
        name = type(backend).__name__
        raise TypeError(f"task {task.module_path!r} has a {name}, and no HoldfastBackend")
    return backend


def configured_backend(alias: str) -> HoldfastBackend:
    """Return the backend called *alias* in the setting `TASKS`.

    Raises:
        ImproperlyConfigured: the backend is no `HoldfastBackend`, or there is none of this name.
    """
    from django.tasks import task_backends

    backend = task_backends[alias]
    if not isinstance(backend, HoldfastBackend):
        name = f"{type(backend).__module__}.{type(backend).__qualname__}"
        raise ImproperlyConfigured(
            f"TASKS[{alias!r}] has the backend {name}; "
            'write "BACKEND": "holdfast.django.HoldfastBackend"'
        )
    return backend
