"""Audit a namespace: read its keys in bounded steps, and run the checks of each block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...core import layout
from ...core._async.caller import Argument, AsyncCaller
from ...core.audit import Fault, Part, Snapshot, Span
from ...core.concurrency._async.primitives import sleep
from ...core.names import Namespace, Unit
from ...errors import ServerRefused
from ..audit_inventory import AUDITS, KeyInventory
from ..audit_report import AuditReport, Damage
from ..finding import Severity
from .layout_version import stored_version

MOST: Final = 1000
"""Maximum number of damages that a report lists."""

_PAGE: Final = 1000
"""Number of keys, or members, that one step reads."""

_LARGE_PAGE: Final = 50
"""Number of fields that one step reads if only their names are needed, as values may be large."""

_PAUSES_S: Final = (0.05, 0.2, 0.5)
"""Seconds before each repeated check of a suspected fault. A fault that a later check does not find
was no fault: a client changed the data between two reads."""


async def audit(caller: AsyncCaller, namespace: Namespace) -> AuditReport:
    """Check all keys of a namespace."""
    version = await stored_version(caller, namespace)
    layout.check(version, namespace, "auditing", reading=True)
    inventory = KeyInventory(namespace)
    damages = await _scan_keys(caller, namespace, inventory)
    for unit, faults in (await _lasting_faults(caller, inventory)).items():
        for fault in dict.fromkeys(faults):
            key = unit.key(fault.part)
            damages.append(Damage(Severity.ERROR, unit.kind, unit.name, key, fault.what))
    return AuditReport(
        inventory.keys,
        len(inventory.units),
        tuple(damages[:MOST]),
        complete=len(damages) <= MOST,
        layout=version,
    )


async def _scan_keys(
    caller: AsyncCaller, namespace: Namespace, inventory: KeyInventory
) -> list[Damage]:
    """Add all keys of all servers to the inventory. Return the damages of names, types and
    expiries."""
    damages: list[Damage] = []
    seen: set[bytes] = set()
    unit = namespace.unit("audit", "")  # errors of the calls contain its name
    for address in await caller.primaries():
        cursor: Any = b"0"
        done = False
        while not done:
            scan = ("SCAN", cursor, "MATCH", f"{namespace.prefix}*", "COUNT", _PAGE)
            cursor, page = await caller.ask(address, unit, *scan)
            keys = list(dict.fromkeys(key for key in page if key not in seen))
            seen.update(keys)
            types = await caller.ask_many(address, unit, [("TYPE", key) for key in keys])
            ttls = await caller.ask_many(address, unit, [("PTTL", key) for key in keys])
            for key, kind, ttl_ms in zip(keys, types, ttls, strict=True):
                damages += inventory.add(key, kind, ttl_ms)
            done = cursor == b"0"
    return damages


async def _lasting_faults(caller: AsyncCaller, inventory: KeyInventory) -> dict[Unit, list[Fault]]:
    """Return the faults of each unit that all checks of the unit find."""
    lasting: dict[Unit, list[Fault]] = {}
    for unit in sorted(inventory.units, key=str):
        lasting[unit] = await _faults(caller, inventory, unit)
        if sum(map(len, lasting.values())) > MOST:
            break
    for pause_s in _PAUSES_S:
        lasting = {unit: faults for unit, faults in lasting.items() if faults}
        if lasting:
            await sleep(pause_s)
        for unit, faults in lasting.items():
            found = set(await _faults(caller, inventory, unit))
            lasting[unit] = [fault for fault in faults if fault in found]
    return lasting


async def _faults(caller: AsyncCaller, inventory: KeyInventory, unit: Unit) -> list[Fault]:
    return list(AUDITS[unit.kind].faults(await _snapshot(caller, unit, inventory.units[unit])))


async def _snapshot(caller: AsyncCaller, unit: Unit, parts: dict[str, Part]) -> Snapshot:
    block, contents, seen = AUDITS[unit.kind], dict[str, Any](), set[str]()
    snapshot = Snapshot(unit, contents)
    names: set[str] = {*parts}
    while names:
        seen |= names
        for name in sorted(names):
            part = block.part(unit.kind, name)
            if part.reading != "nothing" and (
                value := await _read(caller, unit, unit.key(name), part)
            ):
                contents[name] = value
        names = {*block.others(snapshot)} - seen
    fields = list(block.wanted(snapshot))
    sizes = [await caller.read(unit, "HSTRLEN", unit.key(name), field) for name, field in fields]
    return Snapshot(unit, contents, dict(zip(fields, sizes, strict=True)))


async def _read(caller: AsyncCaller, unit: Unit, key: str, part: Part) -> Any:
    """Return the value of a key; None if the key does not exist or has another type."""
    try:
        return await _value(caller, unit, key, part)
    except ServerRefused as error:
        if not error.reason.startswith("WRONGTYPE"):
            raise
        return None


async def _value(caller: AsyncCaller, unit: Unit, key: str, part: Part) -> Any:
    if part.reading == "count":
        return await caller.read(unit, _COUNTS[part.type], key)
    if part.type == "string":
        return await caller.read(unit, "GET", key)
    if part.type == "list":
        return await _list(caller, unit, key)
    if part.type == "stream":
        return await _span(caller, unit, key)
    size = _LARGE_PAGE if part.reading == "names" else _PAGE
    return _shaped(await _scanned(caller, unit, _SCANS[part.type], key, size), part)


def _shaped(flat: list[bytes], part: Part) -> Any:
    """Convert the flat result of a scan to the type that `Snapshot` has for it."""
    if part.type == "set":
        return frozenset(flat)
    if part.type == "zset":
        return dict(zip(flat[::2], map(float, flat[1::2]), strict=True))
    values = [b""] * (len(flat) // 2) if part.reading == "names" else flat[1::2]
    return dict(zip(flat[::2], values, strict=True))


_COUNTS: Final = {"hash": "HLEN", "list": "LLEN"}
_SCANS: Final = {"hash": "HSCAN", "set": "SSCAN", "zset": "ZSCAN"}


async def _scanned(
    caller: AsyncCaller, unit: Unit, command: str, key: str, size: int
) -> list[bytes]:
    flat: list[bytes] = []
    cursor: Any = b"0"
    done = False
    while not done:
        cursor, page = await caller.read(unit, command, key, cursor, "COUNT", size)
        flat += page
        done = cursor == b"0"
    return flat


async def _list(caller: AsyncCaller, unit: Unit, key: str) -> list[bytes]:
    found: list[bytes] = []
    page: Sequence[bytes] = ()
    full = True
    while full:
        last = len(found) + _PAGE - 1
        page = await caller.read(unit, "LRANGE", key, len(found), last)
        found += page
        full = len(page) == _PAGE
    return found


async def _span(caller: AsyncCaller, unit: Unit, key: str) -> Span | None:
    """Return length, first and last number of a stream; None if it is empty."""
    count = await caller.read(unit, "XLEN", key)
    first = await caller.read(unit, "XRANGE", key, "-", "+", "COUNT", 1)
    last = await caller.read(unit, "XREVRANGE", key, "+", "-", "COUNT", 1)
    if not first or not last:
        return None
    return Span(count, _number(first), _number(last))


def _number(entries: Iterable[Sequence[Argument]]) -> int:
    """Return the number in the id of the only entry; ids are `NUMBER-MS`."""
    [(entry, _)] = entries
    assert isinstance(entry, bytes)
    return int(entry.partition(b"-")[0])
