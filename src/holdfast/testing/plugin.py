"""Fixtures for pytest. Nothing happens until a test asks for one of them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from .. import AsyncHoldfast, Holdfast, TaskRegistry
    from . import AsyncTaskBench, TaskBench

Fixture = TypeVar("Fixture", bound=Callable[..., Any])


def _async_fixture(function: Fixture) -> Fixture:
    """A fixture for asyncio. Without the plugin for it, a test that asks for one is told so."""
    made: Any
    if find_spec("pytest_asyncio") is None:
        made = pytest.fixture(function)
    else:
        from pytest_asyncio import fixture

        made = fixture(function)
    return made  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def holdfast_url() -> Iterator[str]:
    """The URL of a private server for this test process: the bundled Valkey, without persistence.

    Override it in a `conftest.py` to test against a server of yours.
    """
    from ..server import EmbeddedServer

    server = EmbeddedServer.open(None)
    yield server.url
    server.close()


@pytest.fixture
def holdfast_namespace() -> str:
    """A namespace of the test's own; processes that it starts need it, and `holdfast_url`."""
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def holdfast_client(holdfast_url: str, holdfast_namespace: str) -> Iterator[Holdfast]:
    """A blocking client in a namespace of the test's own. Tasks stay in line until drained."""
    from .. import Holdfast

    with Holdfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf


@pytest.fixture
def holdfast_inline(
    holdfast_url: str, holdfast_namespace: str
) -> Iterator[Callable[[TaskRegistry], Holdfast]]:
    """Makes a blocking client whose tasks run at once: `hf = holdfast_inline(tasks)`."""
    from ._sync.inline_client import InlineHoldfast

    with InlineHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf.inline


@pytest.fixture
def holdfast_tasks(holdfast_client: Holdfast) -> TaskBench:
    """What is in line: `assert_enqueued`, `refute_enqueued`, `drain`."""
    from . import TaskBench

    return TaskBench(holdfast_client)


@_async_fixture
async def async_holdfast_client(
    holdfast_url: str, holdfast_namespace: str
) -> AsyncIterator[AsyncHoldfast]:
    """As `holdfast_client`, for asyncio."""
    from .. import AsyncHoldfast

    async with AsyncHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf


@_async_fixture
async def async_holdfast_inline(
    holdfast_url: str, holdfast_namespace: str
) -> AsyncIterator[Callable[[TaskRegistry], AsyncHoldfast]]:
    """As `holdfast_inline`, for asyncio."""
    from ._async.inline_client import AsyncInlineHoldfast

    async with AsyncInlineHoldfast.from_url(holdfast_url, namespace=holdfast_namespace) as hf:
        yield hf.inline


@pytest.fixture
def async_holdfast_tasks(async_holdfast_client: AsyncHoldfast) -> AsyncTaskBench:
    """As `holdfast_tasks`, for asyncio."""
    from . import AsyncTaskBench

    return AsyncTaskBench(async_holdfast_client)
