"""Django with a Holdfast backend on real servers, and databases of SQLite and PostgreSQL."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from conftest import Site
from rows.conftest import postgres as postgres  # noqa: PLC0414 (it is a fixture)
from rows.postgres import Postgres

IS_INSTALLED = sys.version_info >= (3, 12) and find_spec("django") is not None

collect_ignore_glob = [] if IS_INSTALLED else ["test_[!i]*.py", "shop/*"]
"""Without Django only `test_installed.py` runs, which says so."""

QUEUES = ["default", "email"]


def tasks_setting(site: Site | None, **options: Any) -> dict[str, Any]:
    """Return the setting `TASKS` for a server."""
    server = (
        {"url": site.url, "namespace": site.namespace} if site else {"url": "redis://localhost"}
    )
    return {
        "default": {
            "BACKEND": "holdfast.django.HoldfastBackend",
            "QUEUES": QUEUES,
            "OPTIONS": {**server, **options},
        }
    }


def sqlite(file: str | Path) -> dict[str, Any]:
    """Return the settings of a database in a file."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(file), "CONN_MAX_AGE": 0}


def postgresql(server: Postgres, **options: Any) -> dict[str, Any]:
    """Return the settings of a database of PostgreSQL."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": server.port,
        "USER": "holdfast",
        "NAME": "postgres",
        **options,
    }


if IS_INSTALLED:
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=[
                "django.contrib.admin",
                "django.contrib.auth",
                "django.contrib.contenttypes",
                "django.contrib.messages",
                "django.contrib.sessions",
                "holdfast.django",
                "with_django.shop",
            ],
            MIDDLEWARE=[
                "django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware",
            ],
            TEMPLATES=[
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "APP_DIRS": True,
                    "OPTIONS": {
                        "context_processors": [
                            "django.template.context_processors.request",
                            "django.contrib.auth.context_processors.auth",
                            "django.contrib.messages.context_processors.messages",
                        ]
                    },
                }
            ],
            DATABASES={"default": sqlite(":memory:")},
            ROOT_URLCONF="with_django.shop.urls",
            SECRET_KEY="only for tests",
            STATIC_URL="static/",
            TASKS=tasks_setting(None),
            USE_TZ=True,
        )
        django.setup()


@contextmanager
def configured(site: Site, **options: Any) -> Iterator[None]:
    """Use the server of *site* in the setting `TASKS`."""
    from django.test import override_settings

    with override_settings(TASKS=tasks_setting(site, **options)):
        yield


@pytest.fixture
def backend(site: Site) -> Iterator[Any]:
    """Yield the default backend; a task has one attempt."""
    from django.tasks import default_task_backend

    from holdfast.django.clients import close_clients

    with configured(site, attempts=1):
        yield default_task_backend
    close_clients()


@contextmanager
def database_of(params: dict[str, Any]) -> Iterator[None]:
    """Make the default database of Django the one of *params*, with its tables."""
    from asgiref.local import Local
    from django.core.management import call_command
    from django.db import connections

    before = connections.settings
    connections.close_all()
    connections.settings = connections.configure_settings({"default": dict(params)})
    connections._connections = Local(connections.thread_critical)
    try:
        call_command("migrate", run_syncdb=True, verbosity=0)
        yield
    finally:
        connections.close_all()
        connections.settings = before
        connections._connections = Local(connections.thread_critical)
        with warnings.catch_warnings():  # threads of workers have ended with their connections
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def reset(server: Postgres) -> None:
    """Drop all tables that tests of Django have created."""
    import psycopg

    dsn = f"host=127.0.0.1 port={server.port} user=holdfast dbname=postgres"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Make an empty database the default one of Django, and yield its URL for SQLAlchemy."""
    if request.param == "sqlite":
        file = tmp_path / "shop.db"
        with database_of(sqlite(file)):
            yield f"sqlite:///{file}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    reset(server)
    with database_of(postgresql(server)):
        yield server.url()
    reset(server)


@pytest.fixture
def admin(database: str) -> Any:
    """Return a function that reads a page of the admin as a superuser."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    user = get_user_model().objects.create_superuser("admin", "admin@localhost", "secret")
    client = Client()
    client.force_login(user)

    def read(path: str) -> str:
        response = client.get(path)
        assert response.status_code == 200, response.status_code
        return response.content.decode()

    return read
