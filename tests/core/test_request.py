"""What is written to a connection."""

from __future__ import annotations

import pytest

from holdfast.core.connections.request import Form, Request

SHA1 = "a" * 40


@pytest.mark.parametrize("keys", [[], ["k"], ["{k}:1", b"{k}:2\r\n$1", "größer"]])
@pytest.mark.parametrize("rest", [[], [10_000, ""], ["é", b"\x00\r\n", -1]])
@pytest.mark.parametrize("first", ["", "host:1:ab.7", "größer", "$3\r\nx"])
def test_a_filled_form_is_a_packed_call(
    keys: list[str | bytes], rest: list[str | bytes | int], first: str
) -> None:
    """Byte for byte."""
    assert Form(SHA1, keys, *rest).filled(first) == Request.of_script(SHA1, keys, [first, *rest])
