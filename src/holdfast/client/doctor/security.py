"""Who may do what on a server, and what is known of its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

from ..acl import acl_rule
from .finding import Finding
from .snapshots import Examined, Login
from .vulnerabilities import Version, open_holes, shown, version_of

OLDEST: Final[Mapping[str, Version]] = {"valkey": (7, 2, 0), "redis": (7, 0, 0)}
"""The oldest releases that Holdfast is made for."""


def security(one: Examined) -> Iterator[Finding]:
    """What strangers, or its users, could do there."""
    yield from _release(one)
    yield from _door(one)


def _release(one: Examined) -> Iterator[Finding]:
    software, version = one.facts.software, version_of(one.facts.version)
    oldest = OLDEST.get(software)
    if oldest is None:
        yield Finding(
            "warning",
            f"it calls itself {software}, which Holdfast was never tested with",
            "scripts, expiry or failover may differ from Valkey's and Redis's",
            "run Valkey 7.2 or Redis 7.0, or a later one",
            one.address,
        )
        return
    if version < oldest:
        yield Finding(
            "error",
            f"{software} {one.facts.version} is too old",
            f"scripts of Holdfast need what came with {shown(oldest)}",
            f"upgrade to {software} {shown(oldest)} or later",
            one.address,
        )
        return
    for found in open_holes(software, version):
        hole, mended = found.hole, found.mended
        yield Finding(
            "error" if mended else "warning",
            f"{software} {one.facts.version} has {', '.join(hole.ids)}",
            f"{hole.about}: {hole.source}"
            + ("" if mended else "; no release of this line is known to mend it, but a "
               "distribution may have, without a new version"),
            f"upgrade to {software} {shown(mended)} or later"
            if mended
            else f"upgrade to a later line of {software}, or ask your distribution",
            one.address,
        )  # fmt: skip


def _door(one: Examined) -> Iterator[Finding]:
    if one.login.by_password:
        return
    if not one.is_local or _is_open(one):
        yield Finding(
            "error",
            "it lets anybody in who reaches it, without a password",
            "whoever is on that network may read and change everything, and run scripts",
            f"ACL SETUSER {one.login.user} resetpass >PASSWORD, or bind it to 127.0.0.1",
            one.address,
        )


def _is_open(one: Examined) -> bool:
    """Whether it also hears strangers: it is bound to more than this machine, and not guarded."""
    bound = one.setting("bind")
    if bound is None or one.setting("protected-mode") == "yes" or not one.info.get("tcp_port", ""):
        return False
    if one.info["tcp_port"] == "0":
        return False
    return bound == "" or any(not is_loopback(name.lstrip("-")) for name in bound.split())


def is_loopback(name: str) -> bool:
    """Whether only programs of this machine reach the host of that *name*."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def rights(login: Login) -> Iterator[Finding]:
    """What the user of the client may do that it need not, and may not that it must."""
    # The rule begins with `reset`: a line without a password would shut the user out.
    rule = f"ACL SETUSER {login.user} {acl_rule(login.namespace)} on >PASSWORD"
    if login.lacks:
        yield Finding(
            "error",
            f"user {login.user!r} may not {', '.join(login.lacks)}",
            "what needs them fails as soon as it is used",
            rule,
        )
    if login.beyond:
        command = rule
        if login.user == "default":  # everybody is: it must not be shut out by a pasted line
            command = (
                f"ACL SETUSER app {acl_rule(login.namespace)} on >PASSWORD, and connect as app"
            )
        yield Finding(
            "note" if login.user == "default" else "warning",
            f"user {login.user!r} may {', and '.join(login.beyond)}",
            f"Holdfast needs only what is in namespace {login.namespace!r}; whoever gets hold of "
            "its password has the rest",
            command,
        )
