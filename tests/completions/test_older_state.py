"""Completions and recent names on a server that restarts from an older state."""

import secrets
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback


@pytest.mark.parametrize("kind", ["completions", "recent"])
def test_names_continue_from_the_older_state(half: Half, rollback: Rollback, kind: str) -> None:
    url = f"{rollback.server.url}?socket_timeout=1"
    names: Any = getattr(half.client(url, f"old-{secrets.token_hex(4)}"), kind)("guild")
    add, find = (
        (names.add, lambda: names.search("a"))
        if kind == "completions"
        else (names.touch, lambda: names.match("a"))
    )

    def found() -> set[str]:
        return {getattr(each, "name", each) for each in half.insist(find)}

    half.do(add("anna"))
    rollback.save()
    half.do(names.remove("anna"))
    half.do(add("adam"))
    assert found() == {"adam"}
    rollback.restart()
    assert found() == {"anna"}
    half.insist(lambda: add("adam"))
    half.insist(lambda: names.remove("anna"))
    assert found() == {"adam"}
