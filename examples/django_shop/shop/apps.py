"""The application of the shop."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """Describes the shop to Django."""

    name = "shop"
    default_auto_field = "django.db.models.BigAutoField"
