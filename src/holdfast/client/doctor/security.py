"""Find problems of access to a server, and of its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

from ..acl import acl_rule
from ..finding import Finding, Severity
from .snapshots import Login, ServerSnapshot
from .vulnerabilities import Version, parse_version, unfixed_in, version_text

OLDEST: Final[Mapping[str, Version]] = {"valkey": (7, 2, 0), "redis": (7, 0, 0)}
"""Software → the oldest release that Holdfast supports."""


def security(one: ServerSnapshot) -> Iterator[Finding]:
    """Yield weaknesses that outsiders, or users of the server, could exploit."""
    yield from _release(one)
    yield from _access(one)


def _release(one: ServerSnapshot) -> Iterator[Finding]:
    software, version = one.facts.software, parse_version(one.facts.version)
    oldest = OLDEST.get(software)
    if oldest is None:
        yield Finding(
            Severity.WARNING,
            f"it calls itself {software}, with which Holdfast was never tested",
            "scripts, expiry or failover may differ from Valkey's and Redis's",
            "run Valkey 7.2 or Redis 7.0, or a later one",
            one.address,
        )
        return
    if version < oldest:
        yield Finding(
            Severity.ERROR,
            f"{software} {one.facts.version} is too old",
            f"scripts of Holdfast need features of {version_text(oldest)}",
            f"upgrade to {software} {version_text(oldest)} or later",
            one.address,
        )
        return
    for found in unfixed_in(software, version):
        vulnerability, fixed_in = found.vulnerability, found.fixed_in
        yield Finding(
            Severity.ERROR if fixed_in else Severity.WARNING,
            f"{software} {one.facts.version} has {', '.join(vulnerability.ids)}",
            f"{vulnerability.about}: {vulnerability.source}"
            + ("" if fixed_in else "; no release of this line is known to fix it, but a "
               "distribution may have fixed it without a new version"),
            f"upgrade to {software} {version_text(fixed_in)} or later"
            if fixed_in
            else f"upgrade to a later line of {software}, or ask your distribution",
            one.address,
        )  # fmt: skip


def _access(one: ServerSnapshot) -> Iterator[Finding]:
    if one.login.by_password:
        return
    if not one.is_local or _is_open(one):
        yield Finding(
            Severity.ERROR,
            "it accepts connections without a password",
            "every program on that network may read and change everything, and run scripts",
            f"ACL SETUSER {one.login.user} resetpass >PASSWORD, or bind it to 127.0.0.1",
            one.address,
        )


def _is_open(one: ServerSnapshot) -> bool:
    """Return whether the server accepts connections of other machines without a password."""
    bound = one.setting("bind")
    if bound is None or one.setting("protected-mode") == "yes" or not one.info.get("tcp_port", ""):
        return False
    if one.info["tcp_port"] == "0":
        return False
    return bound == "" or any(not is_loopback(name.lstrip("-")) for name in bound.split())


def is_loopback(name: str) -> bool:
    """Return whether only programs of this machine can reach the host called *name*."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def rights(login: Login) -> Iterator[Finding]:
    """Yield findings about missing and excessive rights of the client's user."""
    # Include a password, because the rule begins with `reset`, which removes the user's password.
    allowed = acl_rule(login.namespace, near=login.near)
    rule = f"ACL SETUSER {login.user} {allowed} on >PASSWORD"
    if login.missing:
        yield Finding(
            Severity.ERROR,
            f"user {login.user!r} may not {', '.join(login.missing)}",
            "calls that need these rights fail",
            rule,
        )
    if login.excessive:
        command = rule
        if login.user == "default":
            # Suggest another user, because resetting `default` would lock out other programs.
            command = f"ACL SETUSER app {allowed} on >PASSWORD, and connect as app"
        yield Finding(
            Severity.NOTE if login.user == "default" else Severity.WARNING,
            f"user {login.user!r} may {', and '.join(login.excessive)}",
            f"Holdfast needs only namespace {login.namespace!r}; a stolen password gives access to "
            "the rest",
            command,
        )
