"""Find the tasks of Django that a worker may run.

The names of tasks on the server do not decide which modules are imported: only the settings do.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType

from django.apps import apps
from django.tasks import Task
from django.tasks.exceptions import InvalidTask
from django.utils.module_loading import autodiscover_modules


def import_tasks(modules: Sequence[str]) -> None:
    """Import the module `tasks` of each installed application, and *modules*."""
    autodiscover_modules("tasks")
    for name in modules:
        importlib.import_module(name)


def found_tasks(modules: Sequence[str]) -> dict[str, Task]:
    """Import the modules with tasks. Return the tasks in them by their module paths.

    Return also the tasks in other modules of the installed applications that are imported already.
    """
    import_tasks(modules)
    found: dict[str, Task] = {}
    for name, module in list(sys.modules.items()):
        if _may_have_tasks(name, tuple(modules)):
            found |= {task.module_path: task for task in _tasks_in(module)}
    return found


def check_is_found(task: Task, modules: Sequence[str]) -> None:
    """Raise InvalidTask if a worker would not find *task*."""
    module = task.func.__module__
    if not _may_have_tasks(module, tuple(modules)):
        raise InvalidTask(
            f"A worker would not find {task.module_path!r}: module {module!r} belongs to no "
            "installed application. Move the task into the module `tasks` of one, or name its "
            "module in the option 'modules' of the backend."
        )
    if task_at(task.module_path) is None:
        raise InvalidTask(
            f"A worker would not find {task.module_path!r}: what the module has under this name "
            "is no task. Decorate the function with @task."
        )


def task_at(path: str) -> Task | None:
    """Return the task at a module path; None if no imported module has a task there."""
    parts = path.split(".")
    for size in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:size]))
        if module is not None:
            found = _attribute(module, parts[size:])
            return found if isinstance(found, Task) else None
    return None


def _attribute(module: ModuleType, names: Sequence[str]) -> object:
    """Return the attribute `a.b` of *module* for the names `a` and `b`; None if there is none.

    Read the `__dict__` of each object, so that no code of the module or of a class runs.
    """
    found: object = module
    for name in names:
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
        if isinstance(found, staticmethod):
            found = found.__func__
    return found


def _tasks_in(module: ModuleType) -> Iterator[Task]:
    for value in list(vars(module).values()):
        if isinstance(value, Task):
            yield value


@cache
def _may_have_tasks(module: str, modules: tuple[str, ...]) -> bool:
    names = (*(config.name for config in apps.get_app_configs()), *modules)
    return any(module == name or module.startswith(f"{name}.") for name in names)
