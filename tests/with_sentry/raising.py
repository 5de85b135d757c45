"""A worker with a transport to Sentry that raises: `raising.py URL NAMESPACE`."""

import sys
from typing import Any

import sentry_sdk
from sentry_sdk.transport import Transport

from holdfast import GiveUp, Holdfast, Retry, TaskRegistry
from holdfast.sentry import SentryMiddleware

sentry = SentryMiddleware(each_attempt=True)
tasks = TaskRegistry(middleware=[sentry])
tasks.on_enqueue(sentry.on_enqueue)
ran: list[str] = []


class Raising(Transport):
    def capture_envelope(self, envelope: Any) -> None:
        raise RuntimeError("the transport fails on purpose")


@tasks.task(queue="q", retry=Retry(attempts=3, backoff=0.0))
async def give_up() -> None:
    ran.append("give_up")
    raise GiveUp("own reason")


@tasks.task(queue="q", retry=Retry(attempts=3, backoff=0.0, never=KeyError))
def never() -> None:
    ran.append("never")
    raise KeyError("own key")


@tasks.task(queue="q")
def well() -> int:
    return 7


if __name__ == "__main__":
    url, namespace = sys.argv[1:]
    sentry_sdk.init(dsn="http://key@127.0.0.1:1/1", transport=Raising, traces_sample_rate=1.0)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        handle = hf.enqueue(well.call())
        hf.enqueue_many([give_up.call(), never.call()])
        hf.worker(tasks).run(until_idle=True)
        assert handle.result(timeout=0) == 7
        assert sorted(ran) == ["give_up", "never"], ran
        reasons = " ".join(one.reason for one in hf.queue("q").dead())
        assert "own reason" in reasons, reasons
        assert "own key" in reasons, reasons
