# Generated from test_commands_sent_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What each block has the server do, in scripts and beside them, is bounded, each command."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from client._sync.uses import READS, WRITES
from client.bounded import problem
from faults.monitor import watching
from faults.servers import Server
from holdfast import Holdfast


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def hf(server: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(server.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


def test_every_block_is_read() -> None:
    assert set(READS) == set(WRITES)


@pytest.mark.parametrize("block", WRITES)
def test_every_command_is_bounded(server: Server, hf: Holdfast, tmp_path: Path, block: str) -> None:
    with watching(server) as watch:
        WRITES[block](hf, tmp_path)
        READS[block](hf)
    sent = [words for _, words in watch.commands]
    assert "EVALSHA" in {words[0].upper() for words in sent}
    assert watch.scripted
    assert {problem(words) for words in [*sent, *watch.scripted]} == {""}
