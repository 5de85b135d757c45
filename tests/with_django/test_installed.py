"""Django 6 is there, which needs Python 3.12."""

import pytest

from with_django.conftest import IS_INSTALLED


def test_django_is_installed() -> None:
    if not IS_INSTALLED:
        pytest.skip("the tests of holdfast.django need Django 6, and so Python 3.12")
    import django

    assert django.VERSION >= (6, 0)
