"""An application of Django, for tests."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "with_django.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
