"""Show the outbox in the admin: which tasks wait, and which have failed and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest
from django.tasks import task_backends

from .backend import HoldfastBackend
from .models import OutboxTask

if TYPE_CHECKING:
    from .typed_bases import ModelAdmin
else:
    from django.contrib.admin import ModelAdmin


@admin.register(OutboxTask)
class OutboxTaskAdmin(ModelAdmin):
    """Shows the rows of the outbox, but does not change them; `holdfast outbox` can do that."""

    list_display: tuple[str, ...] = ("task", "queue", "state", "written", "error", "task_id")
    list_filter: tuple[str, ...] = ("state", "queue")
    search_fields: tuple[str, ...] = ("task_id", "task")
    fields: tuple[str, ...] = ("task", "task_id", "queue", "state", "written", "error", "batch")
    readonly_fields: tuple[str, ...] = fields
    actions = None

    @admin.display(description="written")
    def written(self, row: OutboxTask) -> datetime:
        """Return when the row was written."""
        return datetime.fromtimestamp(row.created_ms / 1000, UTC)

    def has_add_permission(self, *_: Any) -> bool:
        """Return False: the application writes the rows."""
        return False

    def has_change_permission(self, *_: Any) -> bool:
        """Return False: a changed row would run another task than the one that was committed."""
        return False

    def has_delete_permission(self, *_: Any) -> bool:
        """Return False: a task that was committed would be lost."""
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show the list, with links to the dashboards that the options of the backends name."""
        context = {"holdfast_dashboards": dashboards(), **(extra_context or {})}
        return super().changelist_view(request, context)


def dashboards() -> list[tuple[str, str]]:
    """Return the alias of each backend with the option `dashboard`, and its value, a URL."""
    return [
        (backend.alias, backend.settings.dashboard)
        for backend in task_backends.all()
        if isinstance(backend, HoldfastBackend) and backend.settings.dashboard
    ]
