"""Looks at every server that holds data, and says what is wrong."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller
from ...core.names import Namespace, Unit
from ...core.transport.settings import Address, Settings
from ...errors import ServerRefused, ServerUnavailable
from ..doctor import acl_checks as needs
from ..doctor.finding import Finding, worst_first
from ..doctor.health import health
from ..doctor.replication import coverage, of_cluster, standing
from ..doctor.security import is_loopback, rights, security
from ..doctor.server_settings import ASKED, settings
from ..doctor.snapshots import Delay, Examined, Login, Ping
from ..doctor.timing import drift, timing
from ..server_facts import ServerFacts, fields

_PINGS: Final = 5


async def diagnosed(
    caller: AsyncCaller, namespace: Namespace, facts_of: Callable[[Address], Any]
) -> list[Finding]:
    """What is to be said of the servers that hold data, the worst first.

    Args:
        caller: how to reach them.
        namespace: in which this client works.
        facts_of: asks one of them how it is: its `ServerFacts`.
    """
    login = await _login(caller, namespace)
    found = list(rights(login))
    if {"INFO", "TIME"} & {*login.lacks}:  # so there is nothing to judge by
        return found
    servers: list[Examined] = []
    for address in await caller.primaries():
        one: ServerFacts = await facts_of(address)
        unit = namespace.unit("server", one.address)
        examined = await _examined(caller, address, unit, one, login)
        servers.append(examined)
        for judge in (health_of, standing, settings, security, timing):
            found += judge(examined)
        if examined.topology == "cluster":
            state = await _allowed(caller, address, unit, "CLUSTER", "INFO")
            found += of_cluster(one.address, fields(state or b""))
    found += drift(servers)
    if caller.settings.topology == "cluster":
        found += coverage(await _asked(caller, namespace, "CLUSTER", "SLOTS"))
    return worst_first(found)


def health_of(one: Examined) -> Sequence[Finding]:
    """What `hf.servers()` tells as well."""
    return tuple(health(one.facts))


async def _examined(
    caller: AsyncCaller, address: Address, unit: Unit, facts: ServerFacts, login: Login
) -> Examined:
    info = fields(await caller.ask(address, unit, "INFO"))
    config = await _allowed(caller, address, unit, "CONFIG", "GET", *ASKED)
    delays = await _allowed(caller, address, unit, "LATENCY", "LATEST")
    return Examined(
        facts=facts,
        info=info,
        config=None if config is None else _pairs(config),
        pings=tuple([await _ping(caller, address, unit) for _ in range(_PINGS)]),
        delays=None if delays is None else tuple(map(_delay, delays)),
        login=login,
        topology=caller.settings.topology,
        is_local=_is_local(address),
    )


async def _ping(caller: AsyncCaller, address: Address, unit: Unit) -> Ping:
    sent_s, local_s = time.monotonic(), time.time()
    seconds, micros = await caller.ask(address, unit, "TIME")
    took_s = time.monotonic() - sent_s
    return Ping(sent_s, took_s, int(seconds) + int(micros) / 1e6, local_s + took_s / 2)


async def _login(caller: AsyncCaller, namespace: Namespace) -> Login:
    """What this client may do: tried by what changes nothing, on keys that are not there."""
    address, *_ = await caller.primaries()
    inside = namespace.unit("doctor", secrets.token_hex(8))
    outside = Namespace.of(f"holdfast-doctor-{secrets.token_hex(8)}").unit("doctor", "")
    lacks = [
        need.told
        for need in needs.NEEDED
        if need.topology in ("", caller.settings.topology)
        and not await _may(caller, address, inside, need.command(inside))
    ]
    beyond = [
        told
        for told, command in needs.BEYOND
        if await _may(caller, address, outside, command(outside))
    ]
    return Login(
        user=str(caller.settings.options.get("username") or "default"),
        namespace=namespace.name,
        by_password=_has_secret(caller.settings),
        lacks=tuple(lacks),
        beyond=tuple(beyond),
    )


async def _may(
    caller: AsyncCaller, address: Address, unit: Unit, command: Sequence[Argument]
) -> bool:
    """Whether the user may run *command*: that is judged first, so nothing else said matters.

    A node of a cluster may say that it is not the one to ask, and a replica that it only reads.
    """
    try:
        await caller.ask(address, unit, *command)
    except ServerUnavailable as error:
        return not error.reason.startswith("NOPERM")
    return True


async def _allowed(caller: AsyncCaller, address: Address, unit: Unit, *command: str) -> Any:
    """The reply to *command*, or None if it is refused."""
    try:
        return await caller.ask(address, unit, *command)
    except ServerRefused:
        return None


async def _asked(caller: AsyncCaller, namespace: Namespace, *command: str) -> Any:
    return await caller.read(namespace.unit("doctor", ""), *command)


def _has_secret(settings: Settings) -> bool:
    secret = ("password", "credential_provider", "ssl_certfile")
    return any(settings.options.get(name) for name in secret)


def _is_local(address: Address) -> bool:
    host, port = address
    return not port or is_loopback(host)


def _pairs(flat: Sequence[bytes]) -> dict[str, str]:
    texts = [each.decode(errors="replace") for each in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _delay(entry: Sequence[Any]) -> Delay:
    event, at_s, _, longest_ms, *_ = entry
    return Delay(
        event.decode(errors="replace"), datetime.fromtimestamp(at_s, UTC), longest_ms / 1e3
    )
