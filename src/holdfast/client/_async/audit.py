"""Walks a namespace in bounded steps, and has each block look at its units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller
from ...core.audit import Fault, Part, Snapshot, Span
from ...core.concurrency._async.primitives import sleep
from ...core.names import Namespace, Unit
from ...errors import ServerRefused
from ..audit_inventory import AUDITS, Census
from ..audit_report import AuditReport, Damage

MOST: Final = 1000
"""Damages that are told."""

_PAGE: Final = 1000
"""Keys, or members, in one step."""

_LARGE_PAGE: Final = 50
"""Fields in one step where values may be large and only the names matter."""

_PAUSES_S: Final = (0.05, 0.2, 0.5)
"""Before what looks wrong is looked at again: tasks and leases may have moved while it was read."""


async def audited(caller: AsyncCaller, namespace: Namespace) -> AuditReport:
    """How a namespace is."""
    census = Census(namespace)
    damages = await _walked(caller, namespace, census)
    for unit, faults in (await _standing(caller, census)).items():
        for fault in dict.fromkeys(faults):
            key = unit.key(fault.part)
            damages.append(Damage("error", unit.kind, unit.name, key, fault.what))
    return AuditReport(
        census.keys, len(census.units), tuple(damages[:MOST]), complete=len(damages) <= MOST
    )


async def _walked(caller: AsyncCaller, namespace: Namespace, census: Census) -> list[Damage]:
    """Every key on every server, page by page; what is wrong with them by themselves."""
    damages: list[Damage] = []
    seen: set[bytes] = set()
    about = namespace.unit("audit", "")
    for address in await caller.primaries():
        cursor: Any = b"0"
        done = False
        while not done:
            scan = ("SCAN", cursor, "MATCH", f"{namespace.prefix}*", "COUNT", _PAGE)
            cursor, page = await caller.ask(address, about, *scan)
            keys = list(dict.fromkeys(key for key in page if key not in seen))
            seen.update(keys)
            types = await caller.ask_many(address, about, [("TYPE", key) for key in keys])
            lives = await caller.ask_many(address, about, [("PTTL", key) for key in keys])
            for key, held, ttl_ms in zip(keys, types, lives, strict=True):
                damages += census.judged(key, held, ttl_ms)
            done = cursor == b"0"
    return damages


async def _standing(caller: AsyncCaller, census: Census) -> dict[Unit, list[Fault]]:
    """What does not fit in a unit, however often one looks."""
    standing: dict[Unit, list[Fault]] = {}
    for unit in sorted(census.units, key=str):
        standing[unit] = await _faults(caller, census, unit)
        if sum(map(len, standing.values())) > MOST:
            break
    for pause_s in _PAUSES_S:
        standing = {unit: faults for unit, faults in standing.items() if faults}
        if standing:
            await sleep(pause_s)
        for unit, faults in standing.items():
            found = set(await _faults(caller, census, unit))
            standing[unit] = [fault for fault in faults if fault in found]
    return standing


async def _faults(caller: AsyncCaller, census: Census, unit: Unit) -> list[Fault]:
    return list(AUDITS[unit.kind].faults(await _snapshot(caller, unit, census.units[unit])))


async def _snapshot(caller: AsyncCaller, unit: Unit, parts: dict[str, Part]) -> Snapshot:
    audit, contents, looked_at = AUDITS[unit.kind], dict[str, Any](), set[str]()
    snapshot = Snapshot(unit, contents)
    names: set[str] = {*parts}
    while names:
        looked_at |= names
        for name in sorted(names):
            part = audit.part(unit.kind, name)
            if part.reading != "nothing" and (
                held := await _read(caller, unit, unit.key(name), part)
            ):
                contents[name] = held
        names = {*audit.others(snapshot)} - looked_at
    fields = list(audit.wanted(snapshot))
    sizes = [await caller.read(unit, "HSTRLEN", unit.key(name), field) for name, field in fields]
    return Snapshot(unit, contents, dict(zip(fields, sizes, strict=True)))


async def _read(caller: AsyncCaller, unit: Unit, key: str, part: Part) -> Any:
    """What a key holds; nothing if it has vanished, or holds something else."""
    try:
        return await _held(caller, unit, key, part)
    except ServerRefused as error:
        if not error.reason.startswith("WRONGTYPE"):
            raise
        return None


async def _held(caller: AsyncCaller, unit: Unit, key: str, part: Part) -> Any:
    held: Any
    if part.reading == "count":
        held = await caller.read(unit, _COUNTS[part.type], key)
    elif part.type == "string":
        held = await caller.read(unit, "GET", key)
    elif part.type == "list":
        held = await _list(caller, unit, key)
    elif part.type == "stream":
        held = await _span(caller, unit, key)
    else:
        size = _LARGE_PAGE if part.reading == "names" else _PAGE
        held = _shaped(await _scanned(caller, unit, _SCANS[part.type], key, size), part)
    return held


def _shaped(flat: list[bytes], part: Part) -> Any:
    """What a scan has brought, as a `Snapshot` has it."""
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
    """Of a stream; None if it is empty."""
    count = await caller.read(unit, "XLEN", key)
    first = await caller.read(unit, "XRANGE", key, "-", "+", "COUNT", 1)
    last = await caller.read(unit, "XREVRANGE", key, "+", "-", "COUNT", 1)
    if not first or not last:
        return None
    return Span(count, _number(first), _number(last))


def _number(entries: Iterable[Sequence[Argument]]) -> int:
    """Of an entry `number-ms`."""
    [(entry, _)] = entries
    assert isinstance(entry, bytes)
    return int(entry.partition(b"-")[0])
