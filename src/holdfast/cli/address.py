"""Describe servers in messages, without passwords."""

from __future__ import annotations

import re
from pathlib import Path


def server_name(url: str | None, embedded: Path | None) -> str:
    """Return a description of the server that a command uses, for its messages."""
    if embedded is not None:
        return f"the embedded server of {str(embedded)!r}"
    return without_password(url or "")


def without_password(url: str) -> str:
    """Return *url* with `***` in place of everything that may be a password, even if mistyped."""
    url = re.sub(r"(password[^=&]*=)[^&]*", r"\1***", url, flags=re.IGNORECASE)
    login, at, hosts = url.rpartition("@")
    scheme, separator, login = login.partition("://") if "://" in login else ("", "", login)
    user, colon, _ = login.partition(":")
    return f"{scheme}{separator}{user}{colon and ':***'}{at}{hosts}"


def url_problem(url: str, error: ValueError) -> str:
    """Return why *url* is not valid, without quoting any part of a password."""
    if "://" not in url:
        return "it does not begin with redis://, rediss://, unix:// or the like"
    if "@" in url and "Port " in str(error):  # the error may quote a password as the port
        return "its port is no number, or its password holds one of / ? # that is not %-encoded"
    return str(error)
