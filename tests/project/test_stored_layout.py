"""Stored data outlive versions: what `docs/keys.md` and `docs/wire.md` promised stays true."""

import importlib.util
import json
from types import ModuleType

import pytest

from project.sources import ROOT


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stored_layout", ROOT / "tools/stored_layout.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_layout_is_still_true(tool: ModuleType) -> None:
    lost = tool.missing(json.loads(tool.RECORDED.read_text()), tool.current())
    assert lost == [], (
        "stored data would be misread by other versions: see docs/versions.md. If only the text "
        "has changed, or nothing was released yet, run `python tools/stored_layout.py --update`"
    )


def test_the_layout_has_keys_and_forms(tool: ModuleType) -> None:
    layout = tool.current()
    assert "`leases` ZSET" in layout["keys.md: Task queues"]
    assert "`attempts`" in layout["wire.md: The record"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("`leases` ZSET", "`leases` HASH"), ("`leases` ZSET", "`claims` ZSET")],
)
def test_a_change_of_a_key_is_found(tool: ModuleType, before: str, after: str) -> None:
    section = "keys.md: Task queues"
    layout = tool.current()
    changed = {**layout, section: [after if each == before else each for each in layout[section]]}
    assert tool.missing(layout, changed) == [f"{section}: {before}"]


def test_additions_are_no_change(tool: ModuleType) -> None:
    layout = tool.current()
    section = "keys.md: Task queues"
    assert tool.missing(layout, {**layout, section: [*layout[section], "`new` HASH"]}) == []
