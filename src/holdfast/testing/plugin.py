"""Provide fixtures for pytest. They do nothing until a test requests one of them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from .. import AsyncHoldfast, Holdfast
    from . import AsyncTaskBench, TaskBench

Fixture = TypeVar("Fixture", bound=Callable[..., Any])


def _async_fixture(function: Fixture) -> Fixture:
    """Make a fixture for asyncio. If pytest-asyncio is missing, pytest reports that to the test."""
    made: Any
    if find_spec("pytest_asyncio") is None:
        made = pytest.fixture(function)
    else:
        from pytest_asyncio import fixture

        made = fixture(function)
    return made  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def holdfast_url() -> Iterator[str]:
    """Start a private server for this test process: the bundled Valkey, without persistence.

    To use another server, override this fixture in a `conftest.py`.
    """
    from ..server import EmbeddedServer

    server = EmbeddedServer.open(None)
    yield server.url
    server.close()


@pytest.fixture
def holdfast_namespace() -> str:
    """Return the namespace of this test.

    A process that the test starts needs the namespace and `holdfast_url` to use the same data.
    """
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def holdfast_client(holdfast_url: str, holdfast_namespace: str) -> Iterator[Holdfast]:
    """Open a blocking client in the namespace of this test. No worker runs: tasks stay queued."""
    from .. import Holdfast

    with Holdfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf


@pytest.fixture
def holdfast_inline(
    holdfast_url: str, holdfast_namespace: str
) -> Iterator[Callable[..., Holdfast]]:
    """Return a function that returns a client: `hf = holdfast_inline(tasks)`.

    The client runs each task when the task is enqueued. `holdfast_inline(tasks, state={…})` sets
    `current_task().state`, in place of the lifespan of the tasks.
    """
    from ._sync.inline_client import InlineHoldfast

    with InlineHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf.inline


@pytest.fixture
def holdfast_tasks(holdfast_client: Holdfast) -> TaskBench:
    """Return an object with `assert_enqueued`, `refute_enqueued` and `drain` for this test."""
    from . import TaskBench

    return TaskBench(holdfast_client)


@_async_fixture
async def async_holdfast_client(
    holdfast_url: str, holdfast_namespace: str
) -> AsyncIterator[AsyncHoldfast]:
    """Open a client for asyncio; see `holdfast_client`."""
    from .. import AsyncHoldfast

    async with AsyncHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf


@_async_fixture
async def async_holdfast_inline(
    holdfast_url: str, holdfast_namespace: str
) -> AsyncIterator[Callable[..., AsyncHoldfast]]:
    """Return a function that returns a client for asyncio; see `holdfast_inline`."""
    from ._async.inline_client import AsyncInlineHoldfast

    async with AsyncInlineHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf.inline


@pytest.fixture
def async_holdfast_tasks(async_holdfast_client: AsyncHoldfast) -> AsyncTaskBench:
    """Return an object with the methods of `holdfast_tasks`, for asyncio."""
    from . import AsyncTaskBench

    return AsyncTaskBench(async_holdfast_client)
