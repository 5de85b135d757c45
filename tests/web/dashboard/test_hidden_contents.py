"""What must not be shown: contents, where they are left out; and the server's password, ever."""

from __future__ import annotations

import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from faults.servers import Server
from holdfast import AsyncHoldfast, Counted, Holdfast, LocalFiles, Retry, TaskRegistry
from holdfast.web import Passes, dashboard, metrics
from web.dashboard.sample_data import PAGES
from web.running import PATIENCE_S

CANARY = "canary-" + secrets.token_hex(8)
DAY = "2011-10-10"
SHOWING = [
    *(f"tasks?queue=work&state={state}" for state in ("queued", "delayed", "dead")),
    *(f"task?queue=work&id={name}" for name in ("waits", "later", "dead")),
    "mailbox?name=jack",
    "chat?id=talk",
    "cache?name=stock&id=1",
    f"tally?name=daily&day={DAY}",
]
"""Pages that show contents, one each."""

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(what: str) -> None:
    """Fails, and does not say at what."""
    raise ValueError


class Rows:
    """A source of rows."""

    def load(self, ids: list[int]) -> dict[int, str]:
        """Return the canary for each id."""
        return dict.fromkeys(ids, CANARY)


def fill(hf: Holdfast, folder: Path) -> None:
    """Put the canary into everything that has contents."""
    hf.enqueue(work.call(CANARY).options(task_id="dead"))
    hf.worker(tasks).run(until_idle=True)
    hf.enqueue(work.call(CANARY).options(task_id="waits", headers={"x": CANARY}))
    hf.enqueue(work.call(CANARY).options(task_id="later", delay=3600.0))
    hf.mailbox("jack").send(CANARY, sender="jill")
    hf.create_chat(["jill"], sender="jill", body={"text": CANARY}, chat_id="talk")
    hf.row_cache("stock", source=Rows()).get(1)
    (folder / "a.log").write_text(f"good\n{CANARY}\n")
    hf.tally("daily").aggregate(LocalFiles(folder), key=counted)


def counted(line: bytes) -> Counted | None:
    """Return the counts of a line; a line that is not good gets a name too long to be accepted."""
    return Counted(DAY, {"word": "good"} if line == b"good" else {"word": "x" * 100_000})


@pytest.fixture(scope="module")
def url(standalone: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a user with the canary as password, after filling each block."""
    rule = ("on", f">{CANARY}", "~*", "&*", "+@all")
    standalone.execute("ACL", "SETUSER", "hidden", *rule)
    url = standalone.url.replace("://", f"://hidden:{CANARY}@")

    def begin() -> None:
        with Holdfast.from_url(url, namespace="hidden") as hf:
            fill(hf, tmp_path_factory.mktemp("lines"))

    thread = threading.Thread(target=begin)  # a worker wants a thread without a loop
    thread.start()
    thread.join(PATIENCE_S)
    yield url
    standalone.execute("ACL", "DELUSER", "hidden")


@asynccontextmanager
async def looking(url: str, arguments: bool) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of the dashboard that is logged in as an operator."""
    passes = Passes(secrets.token_bytes(32))
    async with AsyncHoldfast.from_url(url, namespace="hidden") as hf:
        app = dashboard(hf, access=passes, arguments=arguments)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {passes.issue('ann', 'operator')}"},
        ) as client:
            yield client


@pytest.mark.parametrize("page", SHOWING)
async def test_contents_may_be_left_out(url: str, page: str) -> None:
    """Of the page and of its twin; they are there otherwise."""
    for arguments in (True, False):
        async with looking(url, arguments) as client:
            for path in (page, page.replace("?", ".json?")):
                answer = await client.get(f"/{path}")
                assert answer.status_code == 200
                assert (CANARY in answer.text) is arguments


@pytest.mark.parametrize("state", ["queued", "delayed", "dead"])
async def test_what_is_left_out_cannot_be_guessed(url: str, state: str) -> None:
    """A search in hidden contents would reveal them letter by letter."""
    for arguments in (True, False):
        async with looking(url, arguments) as client:
            asked = {"queue": "work", "state": state, "q": CANARY[:-1]}
            found = (await client.get("/tasks.json", params=asked)).json()["tasks"]
            assert len(found) == arguments


async def test_the_password_is_on_no_page(url: str) -> None:
    """The password is not in the JSON either."""
    async with looking(url, arguments=False) as client:
        plain = (path for page in PAGES for path in (page, f"{page or 'overview'}.json"))
        for path in (*plain, *SHOWING, "queue?name=work", "failures?queue=work"):
            assert CANARY not in (await client.get(f"/{path}")).text
    passes = Passes(secrets.token_bytes(32))
    async with (
        AsyncHoldfast.from_url(url, namespace="hidden") as hf,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=metrics(hf, access=passes)),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {passes.issue('ann', 'viewer')}"},
        ) as client,
    ):
        answer = await client.get("/metrics")
        assert (answer.status_code, CANARY in answer.text) == (200, False)
