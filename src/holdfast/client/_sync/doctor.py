# Generated from _async/doctor.py by tools/unasync.py: edit that, then run `make sync`.
"""Read the state of every server that has data, and return the problems found in it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core.names import Namespace, Unit
from ...core.transport.settings import Address, Settings
from ...errors import ServerRefused, ServerUnavailable
from ...queues import keys
from ...queues._sync.schedule_store import ScheduleStore
from ..doctor.acl_checks import NEEDED, NEEDED_BY_NEAR_CACHES, NOT_NEEDED
from ..doctor.replication import cluster_state, coverage, replication, unreachable
from ..doctor.schedules import schedules
from ..doctor.security import is_loopback, rights, security
from ..doctor.server_settings import ASKED, settings
from ..doctor.snapshots import ClockReading, LatencyEvent, Login, ServerSnapshot
from ..doctor.timing import drift, timing
from ..finding import Finding, worst_first
from ..server_info import fields
from .admin import facts_of

LISTED: Final = 1000
"""Largest number of queues, the latest used first, with schedules that are checked."""

_READINGS: Final = 5
"""How often each server's clock is read."""


def diagnose(
    caller: Caller,
    namespace: Namespace,
    catalog: Catalog,
    store: ScheduleStore,
    *,
    near: bool,
) -> list[Finding]:
    """Return the findings about all servers that have data, the most serious first.

    Args:
        caller: sends the commands.
        namespace: namespace of the client.
        catalog: lists the queues.
        store: reads the schedules.
        near: whether to check the rights for near caches, too.
    """
    addresses, found = _answering(caller, namespace)
    login = _login(caller, addresses[0], namespace, near=near)
    found += rights(login)
    if {"INFO", "TIME"} & {*login.missing}:  # all other checks need both commands
        return worst_first(found)
    servers = [_snapshot(caller, namespace, address, login) for address in addresses]
    for one, address in zip(servers, addresses, strict=True):
        found += one.facts.findings
        for check in (replication, settings, security, timing):
            found += check(one)
        if one.topology == "cluster":
            unit = namespace.unit("server", one.address)
            state = _allowed(caller, address, unit, "CLUSTER", "INFO")
            found += cluster_state(one.address, fields(state or b""))
    found += drift(servers)
    if caller.settings.topology == "cluster":
        unit = namespace.unit("doctor", "")
        found += coverage(caller.ask(addresses[0], unit, "CLUSTER", "SLOTS"))
    try:
        for queue in catalog.every(keys.KIND, LISTED):
            reply = store.page(namespace.unit(keys.KIND, queue))
            found += schedules(queue, reply)
    except ServerRefused:
        pass  # `rights` reports what this user may not do
    except ServerUnavailable:
        if caller.settings.topology != "cluster":  # otherwise a finding says which part is away
            raise
    return worst_first(found)


def _answering(caller: Caller, namespace: Namespace) -> tuple[list[Address], list[Finding]]:
    """Return the servers that answer, and the findings about the others.

    Raises:
        ServerUnavailable: no server answers.
    """
    addresses: list[Address] = []
    found: list[Finding] = []
    problem: ServerUnavailable | None = None
    for address in caller.primaries():
        unit = namespace.unit("server", f"{address[0]}:{address[1]}")
        try:
            _allowed(caller, address, unit, "PING")
        except ServerUnavailable as error:
            problem = error
            found += unreachable(caller.settings.where(address), error.reason)
        else:
            addresses.append(address)
    if problem is not None and not addresses:
        raise problem
    return addresses, found


def _snapshot(
    caller: Caller, namespace: Namespace, address: Address, login: Login
) -> ServerSnapshot:
    facts = facts_of(caller, namespace, address)
    unit = namespace.unit("server", facts.address)
    info = fields(caller.ask(address, unit, "INFO"))
    config = _allowed(caller, address, unit, "CONFIG", "GET", *ASKED)
    delays = _allowed(caller, address, unit, "LATENCY", "LATEST")
    return ServerSnapshot(
        facts=facts,
        info=info,
        config=None if config is None else _pairs(config),
        clock=tuple([_read_clock(caller, address, unit) for _ in range(_READINGS)]),
        delays=None if delays is None else tuple(map(_latency_event, delays)),
        login=login,
        topology=caller.settings.topology,
        is_local=_is_local(address),
    )


def _read_clock(caller: Caller, address: Address, unit: Unit) -> ClockReading:
    sent_s, local_s = time.monotonic(), time.time()
    seconds, micros = caller.ask(address, unit, "TIME")
    took_s = time.monotonic() - sent_s
    return ClockReading(sent_s, took_s, int(seconds) + int(micros) / 1e6, local_s + took_s / 2)


def _login(caller: Caller, address: Address, namespace: Namespace, *, near: bool) -> Login:
    """Test the rights of the client's user with commands that change nothing."""
    topology = caller.settings.topology
    inside = namespace.unit("doctor", secrets.token_hex(8))
    outside = Namespace.of(f"holdfast-doctor-{secrets.token_hex(8)}").unit("doctor", "")
    missing = [
        check.title
        for check in (*NEEDED, *(NEEDED_BY_NEAR_CACHES if near else ()))
        if check.topology in ("", topology)
        and not _may(caller, address, inside, check.command(inside))
    ]
    excessive = [
        check.title
        for check in NOT_NEEDED
        if _may(caller, address, outside, check.command(outside))
    ]
    return Login(
        user=str(caller.settings.options.get("username") or "default"),
        namespace=namespace.name,
        by_password=_has_secret(caller.settings),
        missing=tuple(missing),
        excessive=tuple(excessive),
        near=near,
    )


def _may(caller: Caller, address: Address, unit: Unit, command: Sequence[Argument]) -> bool:
    """Return whether the user may run *command*.

    Return True for all errors but `NOPERM`, because the server checks rights first.
    """
    try:
        caller.ask(address, unit, *command)
    except ServerUnavailable as error:
        return not error.reason.startswith("NOPERM")
    return True


def _allowed(caller: Caller, address: Address, unit: Unit, *command: str) -> Any:
    """Return the reply to *command*; None if the server refuses it."""
    try:
        return caller.ask(address, unit, *command)
    except ServerRefused:
        return None


def _has_secret(settings: Settings) -> bool:
    secret = ("password", "credential_provider", "ssl_certfile")
    return any(settings.options.get(name) for name in secret)


def _is_local(address: Address) -> bool:
    host, port = address
    return not port or is_loopback(host)


def _pairs(flat: Sequence[bytes]) -> dict[str, str]:
    texts = [each.decode(errors="replace") for each in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _latency_event(entry: Sequence[Any]) -> LatencyEvent:
    event, at_s, _, longest_ms, *_ = entry
    at = datetime.fromtimestamp(at_s, UTC)
    return LatencyEvent(event.decode(errors="replace"), at, longest_ms / 1e3)
