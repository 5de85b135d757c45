"""Errors, logs and representations never show passwords."""

import logging
import secrets
import traceback

import pytest
from redis.asyncio import Redis

from faults.servers import Server
from holdfast import AsyncHoldfast, HoldfastError, Retry, TaskRegistry

CANARY = "canary-" + secrets.token_hex(8)
NOWHERE = [
    f"redis://joe:{CANARY}@127.0.0.1:1/2",
    f"redis://127.0.0.1:1?password={CANARY}",
    f"rediss://joe:{CANARY}@127.0.0.1:1?ssl_password={CANARY}",
    f"unix://joe:{CANARY}@/nowhere/valkey.sock",
    f"redis+sentinel://joe:{CANARY}@127.0.0.1:1,127.0.0.1:2/main?socket_timeout=0.5",
    f"redis+cluster://joe:{CANARY}@127.0.0.1:1,127.0.0.1:2?socket_timeout=0.5",
]

registry = TaskRegistry()


@registry.task(queue="login", retry=Retry(attempts=1))
def check_password(password: str) -> str:
    """Fails for one of them."""
    if password.endswith("wrong"):
        raise PermissionError("it is wrong")
    return password


def text_of(error: BaseException) -> str:
    chain = "".join(traceback.format_exception(error))
    return f"{error!s} {error!r} {vars(error)!r} {chain}"


async def answers(hf: AsyncHoldfast) -> list[str]:
    found = []
    calls = (
        lambda: hf.mailbox("jill").status(),
        lambda: hf.lock("door").try_acquire(),
        lambda: hf.enqueue(check_password.call("right")),
        hf.servers,
        hf.diagnose,
    )
    for call in calls:
        try:
            found.append(repr(await call()))
        except HoldfastError as error:
            found.append(text_of(error))
    return found


@pytest.mark.parametrize("url", NOWHERE, ids=lambda url: url.partition(":")[0])
async def test_a_server_that_is_away(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with AsyncHoldfast.from_url(url, namespace="canary") as hf:
            texts = [repr(hf), str(hf), repr(vars(hf)), *await answers(hf)]
    assert [each for each in texts if CANARY in each] == []
    assert CANARY not in caplog.text


async def test_a_server_that_rejects_every_client(
    standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """The password is wrong, in the URL or in a client of redis-py."""
    with caplog.at_level(logging.DEBUG):
        url = standalone.url.replace("://", f"://nobody:{CANARY}@")
        client = Redis(port=standalone.port, username="nobody", password=CANARY)
        async with client, AsyncHoldfast(client) as given, AsyncHoldfast.from_url(url) as named:
            for hf in (given, named):
                texts = [repr(hf), *await answers(hf)]
                assert any("invalid username-password" in each for each in texts)
                assert [each for each in texts if CANARY in each] == []
    assert CANARY not in caplog.text


async def test_arguments_of_tasks_are_not_logged(
    standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    space = f"seen-{secrets.token_hex(4)}"
    caplog.set_level(logging.DEBUG)
    async with AsyncHoldfast.from_url(standalone.url, namespace=space) as hf:
        for what in ("right", "wrong"):
            await hf.enqueue(check_password.call(f"{CANARY} {what}"))
        await hf.worker(registry).run(until_idle=True)
        [dead] = await hf.queue("login").dead()
    assert caplog.text.count("check_password") >= 2
    assert CANARY not in caplog.text
    assert "it is wrong" in dead.reason
    assert CANARY not in dead.reason
