"""The application of Django: its name, and its label in tables of migrations."""

from __future__ import annotations

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
