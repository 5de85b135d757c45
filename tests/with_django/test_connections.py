"""Database connections around tasks, as around requests."""

import gc
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from faults.waiting import eventually
from holdfast.django import worker
from rows.postgres import Postgres
from with_django.conftest import database_of, postgresql, reset
from with_django.shop import tasks as shop

pytestmark = [
    pytest.mark.usefixtures("backend"),
    # Django leaves a kept connection to the thread that ends.
    pytest.mark.filterwarnings("ignore:.* was deleted while still open:ResourceWarning"),
]


def connected(server: Postgres) -> set[int]:
    """Return the processes of PostgreSQL that serve Django."""
    dsn = f"host=127.0.0.1 port={server.port} user=holdfast dbname=postgres"
    query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'django'"
    with psycopg.connect(dsn, autocommit=True) as connection:
        return {pid for (pid,) in connection.execute(query)}


def terminate(server: Postgres) -> None:
    """End the connections of Django."""
    dsn = f"host=127.0.0.1 port={server.port} user=holdfast dbname=postgres"
    query = (
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE application_name = 'django'"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(query)


def params(server: Postgres, **options: Any) -> dict[str, Any]:
    return postgresql(server, OPTIONS={"application_name": "django"}, **options)


@pytest.fixture
def clean(postgres: Postgres) -> Iterator[Postgres]:
    reset(postgres)
    yield postgres
    reset(postgres)
    gc.collect()  # here, and not during the next test


def test_connections_are_closed_after_each_task(clean: Postgres) -> None:
    from django.db import connections

    with database_of(params(clean, CONN_MAX_AGE=0)):
        connections.close_all()
        first = shop.database_process.enqueue()
        second = shop.database_process_async.enqueue()
        for number in range(20):
            (shop.order if number % 2 else shop.order_async).enqueue(number)
        worker().run(until_idle=True)
        eventually(lambda: connected(clean) == set())  # a process of PostgreSQL ends by itself
        for result in (first, second):
            result.refresh()
        assert second.return_value[0] == second.return_value[1] != first.return_value
        connections.close_all()


def test_a_connection_is_kept_for_the_next_task(clean: Postgres) -> None:
    with database_of(params(clean, CONN_MAX_AGE=None)):
        results = [shop.database_process.enqueue() for _ in range(3)]
        worker(concurrency=1).run(until_idle=True)
        for result in results:
            result.refresh()
        assert len({result.return_value for result in results}) == 1


def test_a_broken_connection_is_replaced_before_the_next_task(clean: Postgres) -> None:
    """With health checks, as Django does it for requests: no task sees the broken connection."""
    with database_of(params(clean, CONN_MAX_AGE=None, CONN_HEALTH_CHECKS=True)):
        serving = worker(concurrency=1)
        first = shop.database_process.enqueue()
        serving.run(until_idle=True)
        terminate(clean)
        second = shop.database_process.enqueue()
        serving.run(until_idle=True)
        for result in (first, second):
            result.refresh()
        assert second.errors == []
        assert first.return_value != second.return_value
