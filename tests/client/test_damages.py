"""Every kind of damage is found and named, and nothing that is sound is accused."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from client.damages import CASES, Case
from client.units import BUILDERS, Place
from conftest import Site
from holdfast import Holdfast
from holdfast.cache.keys import SHARDS
from holdfast.core.names import Namespace
from holdfast.idempotency.call_names import call_unit


@pytest.fixture
def place(site: Site, tmp_path: Path) -> Iterator[Place]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, ExitStack() as held:
        yield Place(hf, tmp_path, held)


def key_of(site: Site, kind: str, name: str) -> Any:
    namespace = Namespace.of(site.namespace)
    if kind == "idempotent_call":
        return call_unit(namespace, name, "ann", "order-17").key
    shard = crc32(b"1:[1]") % SHARDS
    stored = {"rows": f"{name}/0", "limit": f"{name}/", "values": f"{name}/{shard}"}.get(kind, name)
    return namespace.unit(kind, stored).key


KINDS = [
    ("queue", "group"), ("lock", "rw_lock", "semaphore", "fenced"), ("mailbox", "chat", "inbox"),
    ("recent", "completions", "counter", "rows"), ("feed",), ("tally",), ("limit", "limiter"),
    ("cached", "values", "tag"),
    ("idempotent_call",),
]  # fmt: skip


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_every_damage_is_found_and_named(place: Place, site: Site, kinds: tuple[str, ...]) -> None:
    cases: dict[str, Case] = {
        f"{case.kind}-{n}": case for n, case in enumerate(CASES) if case.kind in kinds
    }
    for kind in kinds:
        BUILDERS[kind](place, f"{kind}-sound")
    for name, case in cases.items():
        BUILDERS[case.kind](place, name)
    assert place.hf.audit().damages == ()
    for name, case in cases.items():
        case.do(site.client, key_of(site, case.kind, name))
    report = place.hf.audit()
    for name, case in cases.items():
        key = key_of(site, case.kind, name)(case.part)
        found = [damage.what for damage in report.damages if damage.key.startswith(key)]
        assert any(case.message in what for what in found), (name, case.message, found)
    damaged = {damage.name.partition("/")[0] for damage in report.damages if damage.kind}
    assert damaged <= set(cases)


def test_there_is_a_case_for_every_kind() -> None:
    assert (
        {case.kind for case in CASES}
        == set(BUILDERS)
        == {kind for kinds in KINDS for kind in kinds}
    )


def test_an_unknown_key_is_reported(place: Place, site: Site) -> None:
    names = ["plain", "{queue:a}:bodies:more", "{unknown:a}:x", "{queue:%zz}:bodies", "{lock:a}"]
    for name in names:
        site.client.set(f"{site.namespace}:{name}", "x")
    site.client.set(f"{site.namespace}-other:x", "x", ex=60)
    report = place.hf.audit()
    assert {damage.key for damage in report.damages} == {f"{site.namespace}:{n}" for n in names}
    assert {(damage.level, damage.kind) for damage in report.damages} == {("warning", "")}


def test_many_damages_are_not_all_reported(place: Place, site: Site) -> None:
    key = key_of(site, "queue", "q")
    site.client.zadd(key("due:h"), {f"nobody-{n}": n for n in range(1001)})
    report = place.hf.audit()
    assert (len(report.damages), report.complete) == (1000, False)
    assert (report.keys, report.units) == (1, 1)
