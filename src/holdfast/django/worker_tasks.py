"""The tasks that `manage.py holdfast_worker` serves: `holdfast worker` imports this module."""

from __future__ import annotations

import os
from typing import Any, Final

BACKEND_VARIABLE: Final = "HOLDFAST_DJANGO_BACKEND"
"""The environment variable with the alias of the backend."""


def __getattr__(name: str) -> Any:
    """Return the registry `tasks`. It is made when it is first used, because it sets up Django."""
    if name != "tasks":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import django

    django.setup()
    from .worker import task_registry

    tasks = globals()["tasks"] = task_registry(os.environ.get(BACKEND_VARIABLE, "default"))
    return tasks
