"""Use Holdfast from Django 6: a backend for `django.tasks`, a worker, and an outbox.

Add `holdfast.django` to `INSTALLED_APPS`; see `docs/django.md`. It needs the extra
`holdfast[django]`, and Python 3.12 as Django 6 does. Each name of this module is imported when it
is first used, because Django allows the import of models only after it has loaded all applications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..exports import by_name, lazily

if TYPE_CHECKING:
    from .backend import HoldfastBackend as HoldfastBackend
    from .calls import enqueue_on_commit as enqueue_on_commit
    from .calls import task_call as task_call
    from .connections import DatabaseConnections as DatabaseConnections
    from .outbox import outbox_enqueue as outbox_enqueue
    from .outbox import outbox_enqueue_many as outbox_enqueue_many
    from .worker import worker as worker

try:
    import django.tasks as _needed  # noqa: F401
except ModuleNotFoundError as _missing:
    if (_missing.name or "").partition(".")[0] not in ("django", "asgiref"):
        raise
    raise ModuleNotFoundError(
        "holdfast.django needs Django 6, and so Python 3.12: "
        "install `holdfast[django]` from where you got Holdfast",
        name=_missing.name,
    ) from None

EXPORTS = by_name(
    {
        "backend": ["HoldfastBackend"],
        "calls": ["enqueue_on_commit", "task_call"],
        "connections": ["DatabaseConnections"],
        "outbox": ["outbox_enqueue", "outbox_enqueue_many"],
        "worker": ["worker"],
    }
)

__all__ = sorted(EXPORTS)  # noqa: PLE0605 (type checkers read the stub)
__getattr__: Final = lazily(__name__, EXPORTS, globals())
