"""What each block has the server do, in scripts and beside them, is bounded, each command."""

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from client._async.uses import READS, WRITES
from client.bounded import problem
from faults.monitor import watching
from faults.servers import Server
from holdfast import AsyncHoldfast


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
async def hf(server: Server) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(server.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


def test_every_block_is_read() -> None:
    assert set(READS) == set(WRITES)


@pytest.mark.parametrize("block", WRITES)
async def test_every_command_is_bounded(
    server: Server, hf: AsyncHoldfast, tmp_path: Path, block: str
) -> None:
    with watching(server) as watch:
        await WRITES[block](hf, tmp_path)
        await READS[block](hf)
    sent = [words for _, words in watch.commands]
    assert "EVALSHA" in {words[0].upper() for words in sent}
    assert watch.scripted
    assert {problem(words) for words in [*sent, *watch.scripted]} == {""}
