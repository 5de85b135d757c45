"""Lost requests and lost replies at each step: a repeated call takes effect once."""

import io
import secrets
from collections.abc import Iterator

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, FileFeed, Holdfast
from holdfast.core.script import Script
from holdfast.files._sync.chunk_reader import READ
from holdfast.files._sync.feed import ABORT, REDEFINE, SEAL
from holdfast.files._sync.feed_file import SETTLE
from holdfast.files._sync.feed_store import STATUS
from holdfast.files._sync.publisher import PUT
from holdfast.files._sync.session import CLAIM, END_SESSION

WAYS = ["drop_reply", "drop_request"]
LINES = b"".join(b"line %d\n" % n for n in range(150_000))


@pytest.fixture
def namespace(standalone: Server) -> str:
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        whole(hf.file_feed("warm", consumers=["a"]))
        hf.file_feed("gone", consumers=["a"]).abort()
    return namespace


@pytest.fixture
def feed(proxy: Proxy, namespace: str) -> Iterator[FileFeed]:
    with Holdfast.from_url(proxy.url, namespace=namespace) as hf:
        yield hf.file_feed("logs", consumers=["a"])


def whole(feed: FileFeed) -> dict[str, bytes]:
    """Use every operation of a feed until it is over; return what its consumer got."""
    found: dict[str, bytes] = {}
    feed.publish(io.BytesIO(LINES), name="large", compress=None)
    feed.publish(io.BytesIO(b"small\n"), name="small")
    feed.redefine(lease=20.0)
    for _ in range(2):
        for file in feed.consumer("a").files(timeout=0):
            with file:
                assert file.name not in found
                found[file.name] = b"".join(block.data for block in file.blocks())
                file.ack()
            assert feed.status().consumers[0].files == len(found)
            break
    feed.seal()
    assert feed.status().state == "over"
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("script", "n"),
    [
        *(
            (script, 1)
            for script in (PUT, CLAIM, READ, SETTLE, END_SESSION, SEAL, REDEFINE, STATUS)
        ),
        *((script, 2) for script in (PUT, CLAIM, READ, SETTLE)),
    ],
)
def test_a_lost_reply_changes_nothing(
    proxy: Proxy, feed: FileFeed, way: str, script: Script, n: int
) -> None:
    """The client repeats the call, and the result is the same."""
    fault = getattr(proxy, way)(n, match=script.sha1.encode())
    assert whole(feed) == {"large": LINES, "small": b"small\n"}
    assert fault.fired == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [1, 2])
def test_chunks_that_were_lost_on_their_way_are_asked_for_again(
    proxy: Proxy, feed: FileFeed, way: str, n: int
) -> None:
    fault = getattr(proxy, way)(n, match=b"HMGET")
    assert whole(feed) == {"large": LINES, "small": b"small\n"}
    assert fault.fired == 1


def test_a_lost_abort_is_sent_again(proxy: Proxy, feed: FileFeed) -> None:
    feed.publish(io.BytesIO(b"x"), name="x")
    fault = proxy.drop_reply(match=ABORT.sha1.encode())
    feed.abort()
    assert fault.fired == 1
    assert feed.status().state == "aborted"


async def test_the_same_in_asyncio(proxy: Proxy, namespace: str) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=namespace) as hf:
        feed = hf.file_feed("logs", consumers=["a"])
        faults = [proxy.drop_reply(match=each.sha1.encode()) for each in (PUT, CLAIM, SETTLE, SEAL)]
        await feed.publish(io.BytesIO(LINES), name="large")
        await feed.seal()
        async for file in feed.consumer("a").files():
            async with file:
                assert sum([1 async for _ in file.lines()]) == 150_000
        assert [fault.fired for fault in faults] == [1, 1, 1, 1]
        assert (await feed.status()).state == "over"
