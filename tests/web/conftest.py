"""The gateway on a real socket, in front of a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import Site
from web.house import House, opened


@pytest.fixture
def house(site: Site) -> Iterator[House]:
    """A gateway with its usual limits, in each topology."""
    with opened(site.url, site.namespace) as house:
        yield house
