"""Two processes of one application admit together what one would."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast.web import Tokens
from web.limited_apps import AMOUNT
from web.running import PATIENCE_S, SECRET


@contextmanager
def served(name: str, url: str, namespace: str) -> Iterator[str]:
    """Serve an application in a process of its own. Yield its URL."""
    with Process.python("-m", "web.limited_apps", name, url, namespace) as process:
        found = eventually(lambda: re.search(r"port (\d+)", process.output))
        assert found
        yield f"http://127.0.0.1:{found[1]}"


def headers_of(user: str) -> dict[str, str]:
    return {"user": user, "Authorization": f"Bearer {Tokens(SECRET).issue(user)}"}


@pytest.mark.parametrize(("name", "path"), [("gateway", "/v1/mailbox"), ("middleware", "/")])
def test_two_processes_admit_what_one_would(standalone: Server, name: str, path: str) -> None:
    """Send three times as many requests as one may pass, at once, to both in turns."""
    namespace = secrets.token_hex(4)

    def ask(number: int) -> int:
        url = urls[number % 2] + path
        return client.get(url, headers=headers_of("jill")).status_code

    with (
        served(name, standalone.url, namespace) as one,
        served(name, standalone.url, namespace) as other,
        ThreadPoolExecutor(8) as pool,
        httpx.Client(timeout=PATIENCE_S) as client,
    ):
        urls = [one, other]
        statuses = list(pool.map(ask, range(3 * AMOUNT)))
        assert sorted(statuses) == [200] * AMOUNT + [429] * (2 * AMOUNT)
        assert set(statuses[AMOUNT * 2 :]) == {429}
        for url in urls:
            answer = client.get(url + path, headers=headers_of("jill"))
            assert int(answer.headers["Retry-After"]) > 3000
            answer = client.get(url + path, headers=headers_of("jack"))
            assert answer.status_code == 200
