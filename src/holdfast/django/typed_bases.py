"""Declare base classes of Django for type checkers, because Django has no types.

This module is never imported when a program runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar


class AppConfig:
    """The base of applications."""


class BaseCommand:
    """The base of commands of `manage.py`."""

    stdout: Any


class BaseTaskBackend:
    """The base of all backends of `django.tasks`."""

    alias: str
    options: dict[str, Any]
    queues: set[str]

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None: ...

    def validate_task(self, task: Any) -> None:
        """Raise InvalidTask if this backend cannot run *task*."""

    def check(self, **kwargs: Any) -> list[Any]:
        """Return the problems of the settings."""
        raise NotImplementedError


class Func:
    """The base of expressions that are calls of functions."""

    def as_sql(self, compiler: Any, connection: Any, *, template: str) -> Any:
        """Return the SQL and its parameters."""


class IntegerChoices(IntEnum):
    """The base of all sets of choices that are numbers with labels."""

    @classmethod
    def choices(cls) -> Any:
        """Return pairs of number and label; in Django a property of the class."""


class MigrationBase:
    """The base of migrations."""


class Model:
    """The base of all models."""

    objects: ClassVar[Any]
    pk: Any

    def __init__(self, **fields: Any) -> None: ...


class ModelAdmin:
    """The base of what the admin shows of a model."""

    def changelist_view(self, request: Any, extra_context: dict[str, Any] | None = None) -> Any:
        """Return the response with the list."""
