"""Tasks of Django, plain and async, that return, raise and use the ORM."""

import time
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.tasks import TaskContext, task

from holdfast import GiveUp, RetryAfter, Snooze, current_task
from with_django.shop.models import Order


@task
def add(a: int, b: int = 0) -> int:
    return a + b


@task()
async def add_async(a: int, b: int = 0) -> int:
    return a + b


@task(queue_name="email", priority=5)
def receipt(number: int) -> int:
    return number


@task(takes_context=True)
def attempt(context: TaskContext, *, of: int) -> list[Any]:
    return [context.attempt, of, context.task_result.id, context.task_result.task.priority]


@task(takes_context=True)
async def attempt_async(context: TaskContext, *, of: int) -> list[Any]:
    return [context.attempt, of, context.task_result.id, context.task_result.task.priority]


@task
def fail(text: str) -> None:
    raise ValueError(text)


@task
def fail_without_unicode(size: int) -> None:
    raise ValueError("\ud800" * size)


@task
async def fail_async(text: str) -> None:
    raise ValueError(text)


@task(takes_context=True)
def fail_once(context: TaskContext) -> str:
    if context.attempt == 1:
        raise RetryAfter(0.01, "once") from KeyError("cause")
    return "done"


@task
def give_up() -> None:
    raise GiveUp("it is no use")


@task
def snooze_once() -> int:
    if not current_task().snoozes:
        raise Snooze(0.01)
    return current_task().snoozes


@task
def unstorable() -> Any:
    return object()


@task
def sleep(seconds: float) -> None:
    while seconds > 0:
        time.sleep(0.05)
        seconds -= 0.05


@task
def big(size: int) -> str:
    return "x" * size


@task
def reports_itself(text: str) -> None:
    current_task().emit({"django_task": "mine", "text": text})
    current_task().progress(1, 2)


def backend_pid() -> int:
    """Return the process of PostgreSQL that serves this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@task
def order(number: int) -> int:
    Order.objects.create(number=number)
    return number


@task
async def order_async(number: int) -> int:
    await Order.objects.acreate(number=number)
    return number


@task
def database_process() -> int:
    return backend_pid()


@task
async def database_process_async() -> list[int]:
    return [await sync_to_async(backend_pid)() for _ in range(2)]
