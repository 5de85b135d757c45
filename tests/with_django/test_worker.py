"""`manage.py holdfast_worker`: a program of its own, which Django sets up."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.tasks import default_task_backend

from conftest import Site
from faults.waiting import eventually
from holdfast.django.management.commands import holdfast_worker
from with_django.conftest import QUEUES, sqlite
from with_django.shop import tasks as shop
from with_django.shop.models import Order

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs" / "django.md"

MANAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "shop_settings"
sys.path.append({tests!r})
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""

SETTINGS = """
INSTALLED_APPS = ["holdfast.django", "with_django.shop"]
DATABASES = {{"default": {database!r}}}
TASKS = {{"default": {tasks!r}}}
USE_TZ = True
"""


@pytest.fixture
def project(site: Site, tmp_path: Path, backend: Any) -> Path:
    """Return a folder with a project that uses *site*."""
    options = {"url": site.url, "namespace": site.namespace, "attempts": 1}
    tasks = {"BACKEND": "holdfast.django.HoldfastBackend", "QUEUES": QUEUES, "OPTIONS": options}
    text = SETTINGS.format(database=sqlite(tmp_path / "shop.db"), tasks=tasks)
    (tmp_path / "shop_settings.py").write_text(text)
    (tmp_path / "manage.py").write_text(MANAGE.format(tests=str(TESTS)))
    return tmp_path


def started(project: Path, *args: str) -> subprocess.Popen[str]:
    """Start the worker from another folder than that of the project."""
    command = [sys.executable, project / "manage.py", "holdfast_worker", *args]
    return subprocess.Popen(
        command, cwd="/", stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_it_serves_the_queues_of_the_backend(project: Path, database: str) -> None:
    results = [shop.add.enqueue(1, b=2), shop.receipt.enqueue(7)]
    results += [shop.order.enqueue(8), shop.order_async.enqueue(9)]
    process = started(project, "--until-idle", "--concurrency", "4")
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert "secret" not in output + errors
    for result in results:
        result.refresh()
    assert [result.return_value for result in results] == [3, 7, 8, 9]
    assert sorted(Order.objects.values_list("number", flat=True)) == [8, 9]
    connections.close_all()


def test_processes_drain_at_sigterm(project: Path) -> None:
    result = shop.sleep.enqueue(1.0)
    waiting = shop.receipt.enqueue(1)
    process = started(project, "--processes", "2", "--queue", "default")
    try:
        eventually(lambda: default_task_backend.get_result(result.id).status == "RUNNING", 90)
        # The worker reports its name by an event, which comes a moment after the claim.
        eventually(lambda: default_task_backend.get_result(result.id).worker_ids[0] != "")
        assert default_task_backend.get_result(result.id).attempts == 1
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    result.refresh()
    assert result.status == "SUCCESSFUL"
    waiting.refresh()
    assert waiting.status == "READY"  # its queue was not chosen


def test_a_project_inside_of_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder belongs to the path of the worker, although it is below `sys.prefix`."""
    monkeypatch.setattr(sys, "prefix", str(project))
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    paths = holdfast_worker._own_paths()
    assert paths[0] == str(project)
    assert not [path for path in paths if path.endswith(("site-packages", "lib-dynload"))]


def test_help_and_errors(project: Path) -> None:
    process = started(project, "--help")
    assert "--processes N" in process.communicate(timeout=100)[0]
    process = started(project, "--backend", "other")
    assert "other" in process.communicate(timeout=100)[1]
    assert process.returncode == 1


def test_the_example_of_the_docs_runs(project: Path, site: Site) -> None:
    """Its files are a project; the relay and the worker are the commands of the page."""
    files = dict(re.findall(r"```py\n# (\S+\.py)\n(.*?)```", DOCS.read_text(), re.DOTALL))
    assert files.keys() == {"shop/tasks.py", "shop/views.py", "settings.py"}
    folder = project / "docs"
    (folder / "shop").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    database = sqlite(folder / "docs.db")
    url, namespace = f'"{site.url}"', f'"namespace": "{site.namespace}"'
    text = files["settings.py"].replace('"redis://localhost:6379"', url)
    text = text.replace('"namespace": "shop"', namespace)
    text += f"DATABASES = {{'default': {database!r}}}\n"
    (folder / "settings.py").write_text(text)
    (folder / "shop" / "__init__.py").touch()
    (folder / "shop" / "models.py").write_text(
        "from django.db import models\n\n\nclass Order(models.Model): ...\n"
    )
    (folder / "buy.py").write_text(BUY)
    (folder / "ask.py").write_text(ASK)
    manage = MANAGE.format(tests=str(TESTS)).replace("shop_settings", "settings")
    (folder / "manage.py").write_text(manage)

    def run(*args: str) -> str:
        environment = os.environ | {"HOLDFAST_URL": site.url, "HOLDFAST_NAMESPACE": site.namespace}
        done = subprocess.run(
            [sys.executable, *args],
            cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    result_id = run("buy.py").strip()
    assert result_id.startswith("email:")
    relay = ("outbox", "run", "--until-idle", "--database", f"sqlite:///{folder / 'docs.db'}")
    run("-m", "holdfast", *relay)
    assert run("ask.py", result_id).strip() == '{"status": "READY"}'
    run("manage.py", "holdfast_worker", "--until-idle")
    assert run("ask.py", result_id).strip() == '{"status": "SUCCESSFUL"}'


SETUP = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django
django.setup()
from django.core.management import call_command
call_command("migrate", run_syncdb=True, verbosity=0)
from django.http import HttpRequest
from shop.views import buy, receipt
"""

BUY = SETUP + 'print(json.loads(buy(HttpRequest()).content)["receipt"])\n'
ASK = SETUP + "print(receipt(HttpRequest(), sys.argv[1]).content.decode())\n"
