"""Provide the registry of the tasks of Django, which `holdfast worker` imports from here."""

from __future__ import annotations

import os
from typing import Any, Final

BACKEND_VARIABLE: Final = "HOLDFAST_DJANGO_BACKEND"
"""The environment variable with the alias of the backend."""


def __getattr__(name: str) -> Any:
    """Return the registry `tasks`. Set up Django and make the registry at the first use."""
    if name != "tasks":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import django

    django.setup()
    from .worker import task_registry

    tasks = globals()["tasks"] = task_registry(os.environ.get(BACKEND_VARIABLE, "default"))
    return tasks
