"""The outbox as a model of Django: its rows are relayed by `holdfast outbox run`."""

from __future__ import annotations

import html
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from django.core.management import call_command
from django.db import transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.test import override_settings

from cli.programs import holdfast
from conftest import Site
from faults.waiting import eventually
from holdfast import Call, Holdfast, Outbox, PayloadTooLarge, TaskRegistry, Unique
from holdfast.django import (
    enqueue_on_commit,
    outbox_enqueue,
    outbox_enqueue_many,
    task_call,
    worker,
)
from holdfast.django.clients import close_clients
from holdfast.django.models import OutboxTask
from with_django.conftest import tasks_setting
from with_django.shop import tasks as shop
from with_django.shop.models import Order

registry = TaskRegistry()


@registry.task(queue="email", unique=Unique(when="raise"))
def welcome(user: str) -> None: ...


def relayed(site: Site, database: str) -> None:
    """Run `holdfast outbox run` until the outbox is empty."""
    done = holdfast(
        *("outbox", "run", "--until-idle", "--quiet", "--database", database),
        HOLDFAST_URL=site.url,
        HOLDFAST_NAMESPACE=site.namespace,
    )
    assert done.returncode == 0, done.stderr


def queued(hf: Holdfast, queue: str = "default") -> list[Any]:
    return [task.args[0] for task in hf.queue(queue).tasks()]


@pytest.fixture
def hf(backend: Any) -> Holdfast:
    client: Holdfast = backend.client
    return client


def test_what_commits_runs(hf: Holdfast, site: Site, database: str) -> None:
    with transaction.atomic():
        Order.objects.create(number=7)
        result_id = outbox_enqueue(task_call(shop.add, 7, b=1))
    [row] = OutboxTask.objects.all()
    assert (row.queue, row.task, row.state) == ("default", shop.add.module_path, 0)
    assert f"default:{row.task_id}" == result_id
    assert abs(row.created_ms / 1000 - datetime.now(UTC).timestamp()) < 60
    assert queued(hf) == []
    relayed(site, database)
    assert OutboxTask.objects.count() == 0
    worker().run(until_idle=True)
    result = shop.add.get_result(result_id)
    assert (result.return_value, result.args, result.kwargs) == (8, [7], {"b": 1})


def test_what_is_rolled_back_never_runs(hf: Holdfast, site: Site, database: str) -> None:
    with transaction.atomic():
        outbox_enqueue(task_call(shop.add, 1))
        outbox_enqueue_many([task_call(shop.add, n) for n in range(2, 5)])
        enqueue_on_commit(task_call(shop.add, 5))
        transaction.set_rollback(True)
    relayed(site, database)
    assert queued(hf) == []


def test_order_and_options(hf: Holdfast, site: Site, database: str) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    with transaction.atomic():
        ids = outbox_enqueue_many([task_call(shop.add, n) for n in range(600)])
        assert outbox_enqueue_many([]) == []
        outbox_enqueue(task_call(shop.receipt.using(priority=-1, run_after=at), 1))
        outbox_enqueue(welcome.call("jack").options(delay=60))
    assert len(set(ids)) == 600
    relayed(site, database)
    found = [task.args[0] for task in hf.queue("default").tasks(limit=1000)]
    assert found == [*range(600)]
    delayed = {task.args[0]: task for task in hf.queue("email").tasks("delayed")}
    assert delayed.keys() == {1, "jack"}
    assert delayed[1].priority == "low"
    assert delayed[1].due_at is not None
    assert abs(delayed[1].due_at - at) < timedelta(seconds=1)


def test_rows_that_fail_are_listed(
    hf: Holdfast, site: Site, database: str, admin: Callable[[str], str]
) -> None:
    outbox_enqueue(welcome.call("jack"))
    outbox_enqueue(welcome.call("jack"))
    waiting = admin("/admin/holdfast/outboxtask/?state__exact=0")
    assert "2 outbox tasks" in waiting
    relayed(site, database)
    [row] = OutboxTask.objects.filter(state=OutboxTask.State.FAILED)
    page = admin("/admin/holdfast/outboxtask/?state__exact=1")
    assert row.task_id in page
    assert "1 outbox task" in page
    assert str(row.error) in html.unescape(page)
    assert row.task_id in admin(f"/admin/holdfast/outboxtask/{row.pk}/change/")


def test_wrong_calls_write_nothing(hf: Holdfast, database: str) -> None:
    with pytest.raises(TypeError, match="expected task_call"):
        outbox_enqueue(shop.add)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected task_call"):
        enqueue_on_commit(shop.add)  # type: ignore[arg-type]
    with pytest.raises(PayloadTooLarge):
        outbox_enqueue(task_call(shop.add, "x" * 2_000_000))
    assert OutboxTask.objects.count() == 0


def test_enqueue_on_commit(hf: Holdfast, database: str) -> None:
    with transaction.atomic():
        result_id = enqueue_on_commit(task_call(shop.add, 1))
        enqueue_on_commit(welcome.call("jack"))
        assert queued(hf) == queued(hf, "email") == []
    assert (queued(hf), queued(hf, "email")) == ([1], ["jack"])
    assert shop.add.get_result(result_id).status == "READY"
    enqueue_on_commit(Call("any", "email", "low", (2,)))  # without a transaction: at once
    assert queued(hf, "email") == ["jack", 2]


def test_enqueue_on_commit_uses_the_backend_of_the_task(site: Site, database: str) -> None:
    away = {**tasks_setting(site)["default"], "OPTIONS": {"url": "redis://127.0.0.1:1"}}
    with override_settings(TASKS={"default": away, "slow": tasks_setting(site)["default"]}):
        task = shop.add.using(backend="slow")
        with transaction.atomic():
            result_id = enqueue_on_commit(task_call(task, 1))
            moved = enqueue_on_commit(task_call(shop.add, 2), backend="slow")
        worker("slow").run(until_idle=True)
        assert task.get_result(result_id).return_value == 1
        assert task.get_result(moved).return_value == 2
    close_clients()


def test_a_commit_wakes_the_relay(hf: Holdfast, database: str) -> None:
    """On PostgreSQL by NOTIFY: the flag of the relay is set without a look at the table."""
    if not database.startswith("postgresql"):
        pytest.skip("only PostgreSQL notifies")
    import psycopg

    dsn = database.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(dsn, autocommit=True) as listening:
        listening.execute(f"LISTEN {Outbox.channel}")
        with transaction.atomic():
            outbox_enqueue(task_call(shop.add, 1))
            transaction.set_rollback(True)
        with transaction.atomic():
            outbox_enqueue(task_call(shop.add, 2))
            assert list(listening.notifies(timeout=0.2)) == []
        assert len(list(listening.notifies(timeout=20, stop_after=1))) == 1


def test_a_running_relay_of_sqlalchemy(hf: Holdfast, database: str) -> None:
    """A transaction of Django and a relay in the same process share the table."""
    engine = sa.create_engine(database)
    relay = hf.outbox_relay(Outbox(sa.MetaData()), engine)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(relay.run)
        for number in range(20):
            with transaction.atomic():
                outbox_enqueue(task_call(shop.add, number))
        eventually(lambda: OutboxTask.objects.count() == 0)
        relay.stop()
        running.result()
    engine.dispose()
    assert queued(hf) == [*range(20)]


def test_the_table_is_that_of_sqlalchemy(database: str, backend: Any) -> None:
    metadata = sa.MetaData()
    table = Outbox(metadata).table
    engine = sa.create_engine(database)
    found = {column["name"]: column for column in sa.inspect(engine).get_columns(table.name)}
    assert list(found) == [column.name for column in table.columns]
    for column in table.columns:
        assert found[column.name]["nullable"] == column.nullable, column.name
        affinity = found[column.name]["type"]._type_affinity
        assert issubclass(column.type._type_affinity, affinity), column.name
        length = getattr(column.type, "length", None)
        if isinstance(column.type, sa.String) and length:
            assert found[column.name]["type"].length == length, column.name
    [index] = sa.inspect(engine).get_indexes(table.name)
    assert index["column_names"] == ["state", "queue", "seq"]
    engine.dispose()


def test_the_migrations_are_complete(database: str, backend: Any) -> None:
    from django.apps import apps

    loader = MigrationLoader(None)
    changes = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    assert "holdfast" not in changes.changes(graph=loader.graph)
    call_command("migrate", "holdfast", "zero", verbosity=0)
    call_command("migrate", "holdfast", verbosity=0)
    assert OutboxTask.objects.count() == 0
