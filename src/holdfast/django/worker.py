"""Make a worker for the tasks of Django."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.tasks import DEFAULT_TASK_BACKEND_ALIAS

from .. import TaskRegistry, Worker
from .attempt import WORKER, function_of
from .backend import configured_backend
from .connections import DatabaseConnections
from .found_tasks import found_tasks


def task_registry(alias: str = DEFAULT_TASK_BACKEND_ALIAS) -> TaskRegistry:
    """Return a registry of all tasks of Django, with the options of the backend *alias*."""
    backend = configured_backend(alias)
    options = backend.settings
    registry = TaskRegistry(lifespan=_lifespan, middleware=[DatabaseConnections()])
    for path, task in sorted(found_tasks(options.modules).items()):
        register = registry.task(
            name=path,
            queue=task.queue_name,
            retry=options.retry,
            timeout=options.timeout,
            result_ttl=options.result_ttl,
        )
        register(function_of(task, alias, type(backend)))
    return registry


def worker(
    alias: str = DEFAULT_TASK_BACKEND_ALIAS,
    *,
    queues: Mapping[str, int] | None = None,
    **options: Any,
) -> Worker:
    """Return a worker for the tasks of a backend, for programs and tests.

    In production use `manage.py holdfast_worker`.

    Args:
        alias: name of the backend in the setting `TASKS`.
        queues: queue → weight; None: the `QUEUES` of the backend, with equal weights. If `QUEUES`
            is empty, the worker serves the queues of its tasks.
        options: other options of `Holdfast.worker`, such as *concurrency*.
    """
    backend = configured_backend(alias)
    chosen = queues or dict.fromkeys(sorted(backend.queues), 1) or None
    return backend.client.worker(task_registry(alias), queues=chosen, **options)


@contextmanager
def _lifespan(info: Any) -> Iterator[dict[str, Any]]:
    yield {WORKER: info.name}
