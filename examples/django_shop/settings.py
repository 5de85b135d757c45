"""The settings of the shop. `start.py` sets the two variables."""

import os

DEBUG = False
SECRET_KEY = "only for this example"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "urls"
USE_TZ = True
TIME_ZONE = "UTC"
INSTALLED_APPS = ["holdfast.django", "shop"]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["SHOP_DATABASE_HOST"],
        "PORT": os.environ.get("SHOP_DATABASE_PORT", ""),
        "USER": os.environ.get("SHOP_DATABASE_USER", "postgres"),
        "NAME": "postgres",
    }
}

TASKS = {
    "default": {
        "BACKEND": "holdfast.django.HoldfastBackend",
        "QUEUES": ["default", "email"],
        "OPTIONS": {"url": os.environ["HOLDFAST_URL"], "namespace": "django-shop"},
    }
}
