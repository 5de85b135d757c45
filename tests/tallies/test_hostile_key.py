"""Whatever a key raises, its line is rejected and the others are counted."""

import secrets
from pathlib import Path

import pytest

from faults.hostile import KINDS
from faults.servers import Server
from holdfast import Counted, Holdfast, LocalFiles

ORDINARY = sorted(kind for kind in KINDS if issubclass(type(KINDS[kind]()), Exception))


def test_a_key_may_raise_whatever_it_likes(standalone: Server, tmp_path: Path) -> None:
    """The reason names the type of the exception, as far as it has a name."""
    path = tmp_path / "a.log"
    path.write_text("".join(f"{kind}\n" for kind in ORDINARY) + "a line\n")

    def key(line: bytes) -> Counted:
        if line.decode() in KINDS:
            raise KINDS[line.decode()]()  # noqa: RSE102 (some are functions)
        return Counted("2011-10-10", {"word": "line"})

    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        tally = hf.tally("daily")
        tally.aggregate(LocalFiles([path]), key=key)
        assert tally.total("2011-10-10") == 1
        assert tally.rejected().lines == len(ORDINARY)


@pytest.mark.parametrize("kind", ORDINARY)
def test_the_first_one_is_logged(
    standalone: Server, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.log"
    path.write_text("a line\n")

    def key(_: bytes) -> Counted:
        raise KINDS[kind]()  # noqa: RSE102 (some are functions)

    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        hf.tally("daily").aggregate(LocalFiles([path]), key=key)
    assert "the key failed on b'a line'" in caplog.text
