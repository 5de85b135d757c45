"""Define the Django application `holdfast.django` with the label `holdfast` in migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .typed_bases import AppConfig
else:
    from django.apps import AppConfig


class HoldfastConfig(AppConfig):
    """Describes `holdfast.django` to Django."""

    name = "holdfast.django"
    label = "holdfast"
    verbose_name = "Holdfast"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from . import checks  # noqa: F401
