"""The command line in front of a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from typer.testing import CliRunner

from cli.crowd import Run, crowded
from conftest import Site
from holdfast import Holdfast
from holdfast.cli.app import app


@pytest.fixture
def run(site: Site) -> Run:
    """Run a command on the server of `site`, without a terminal."""
    variables = {"HOLDFAST_URL": site.url, "HOLDFAST_NAMESPACE": site.namespace}
    runner = CliRunner(env={**variables, "HOLDFAST_EMBEDDED": None, "COLUMNS": None})
    invoke = partial(runner.invoke, app)
    return lambda *args: invoke(args)


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    """A client of the same server and namespace."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


@pytest.fixture
def crowd(hf: Holdfast) -> Iterator[Holdfast]:
    """The same, with a queue `crowd` that holds something of everything."""
    with crowded(hf):
        yield hf
