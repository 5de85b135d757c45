"""System checks: wrong options are found before anything runs, and nothing is connected to."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.tasks import default_task_backend
from django.test import override_settings

from conftest import Site
from holdfast.django import worker
from with_django.conftest import configured

HOLDFAST = "holdfast.django.HoldfastBackend"


def problems(**setting: Any) -> list[str]:
    """Return the messages of the checks for a setting of the default backend."""
    with override_settings(TASKS={"default": {"BACKEND": HOLDFAST, **setting}}):
        return [f"{each.id}: {each.msg}" for each in run_checks()]


def test_good_options_pass_without_a_server() -> None:
    assert problems(OPTIONS={"url": "redis://localhost:1"}) == []
    assert problems(OPTIONS={"embedded": "data", "attempts": 1, "timeout": 5}) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "E002: give either 'url'"),
        ({"url": "redis://a", "embedded": "b"}, "E002: give either 'url'"),
        ({"url": "http://localhost"}, "E002: "),
        ({"url": 7}, "E002: 'url' must be a str"),
        ({"url": "redis://a", "namespace": "\udc80"}, "E002: "),
        ({"url": "redis://a", "atempts": 1}, "E001: has unknown options: atempts"),
        ({"url": "redis://a", "attempts": 0}, "E002: attempts"),
        ({"url": "redis://a", "timeout": -1}, "E002: 'timeout' must be seconds"),
        ({"url": "redis://a", "result_ttl": "1h"}, "E002: 'result_ttl' must be seconds"),
        ({"url": "redis://a", "modules": "shop.jobs"}, "E002: 'modules' must be a list"),
    ],
)
def test_wrong_options_are_found(options: dict[str, Any], expected: str) -> None:
    [problem] = problems(OPTIONS=options)
    code, _, text = expected.partition(" ")
    assert problem.startswith(f"holdfast.{code} TASKS['default']")
    assert text in problem


def test_a_queue_with_a_long_name() -> None:
    [problem] = problems(QUEUES=["x" * 31], OPTIONS={"url": "redis://a"})
    assert problem.startswith("holdfast.E003")


def test_wrong_options_do_not_break_imports() -> None:
    """Tasks can be declared; the first use says what is wrong."""
    with override_settings(TASKS={"default": {"BACKEND": HOLDFAST}}):
        from with_django.shop.tasks import add

        assert add.using(priority=1).priority == 1
        with pytest.raises(ImproperlyConfigured, match="give either"):
            add.enqueue(1)
        with pytest.raises(CommandError, match="give either"):
            call_command("holdfast_worker")


def test_another_backend() -> None:
    dummy = {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}
    with override_settings(TASKS={"default": dummy}):
        with pytest.raises(ImproperlyConfigured, match="has the backend django"):
            worker()
        with pytest.raises(CommandError, match="has the backend django"):
            call_command("holdfast_worker")


def test_the_admin_links_to_the_dashboard(
    site: Site, database: str, admin: Callable[[str], str]
) -> None:
    with configured(site, dashboard="https://ops.example/holdfast"):
        page = admin("/admin/holdfast/outboxtask/")
        assert '<a href="https://ops.example/holdfast">Dashboard of default</a>' in page
    with configured(site):
        assert "Dashboard of" not in admin("/admin/holdfast/outboxtask/")
        assert default_task_backend.settings.dashboard == ""
