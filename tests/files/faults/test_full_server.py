"""A server without free memory: it rejects new files; consumers read and remove stored ones."""

import io
from collections.abc import Iterator

import pytest
import redis

from faults.servers import Server
from holdfast import Holdfast, ServerRefused

LINES = b"".join(b"line %d\n" % n for n in range(100_000))


@pytest.fixture
def client(fresh_server: Server) -> Iterator[redis.Redis]:
    with fresh_server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        yield client
        client.config_set("maxmemory", 0)


def test_what_is_there_is_read_and_makes_room(fresh_server: Server, client: redis.Redis) -> None:
    sent = {"a": LINES, "b": b"b\n"}
    with Holdfast.from_url(fresh_server.url) as hf:
        feed = hf.file_feed("logs", consumers=["one"])
        for name, data in sent.items():
            feed.publish(io.BytesIO(data), name=name, compress=None)
        client.config_set("maxmemory", 1)
        with pytest.raises(ServerRefused, match="memory"):
            feed.publish(io.BytesIO(b"c\n"), name="c")
        found = {}
        for file in feed.consumer("one").files(timeout=0):
            with file:
                found[file.name] = b"".join(block.data for block in file.blocks())
                file.ack()
        assert found == sent
        feed.seal()
        assert feed.status().state == "over"
