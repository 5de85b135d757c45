"""The command line in front of a server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.filled_queue import Run, filled_queue
from conftest import Site, own_site
from faults.servers import Server
from holdfast import Holdfast
from holdfast.cli.app import app


@pytest.fixture
def home(standalone: Server) -> Iterator[Site]:
    """Yield a namespace of the test's own, with a user that may access no other namespace.

    What is shown depends on no topology; `test_resources` reads every kind in each of them.
    """
    with own_site(standalone, restricted=True) as site:
        yield site


def runner(site: Site, **env: str) -> Run:
    """Return a function that runs a command on *site* in this process, without a terminal."""
    variables = {"HOLDFAST_URL": site.url, "HOLDFAST_NAMESPACE": site.namespace}
    without = {"HOLDFAST_EMBEDDED": None, "COLUMNS": None}
    invoke = partial(CliRunner(env={**without, **variables, **env}).invoke, app)
    return lambda *args: invoke(args)


@pytest.fixture
def run(home: Site) -> Run:
    """Run a command on the server of `home`."""
    return runner(home)


@pytest.fixture
def hf(home: Site) -> Iterator[Holdfast]:
    """Yield a client of the same server and namespace."""
    with Holdfast.from_url(home.url, namespace=home.namespace) as hf:
        yield hf


@pytest.fixture
def run_in(home: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Run]]:
    """Run a command in a folder; it may import the modules of that folder."""
    folders = []
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run_there(folder: Path) -> Run:
        folders.append(folder)
        monkeypatch.chdir(folder)
        return runner(home)

    yield run_there
    for name, module in list(sys.modules.items()):
        if any(Path(getattr(module, "__file__", None) or "/").parent == each for each in folders):
            del sys.modules[name]


@pytest.fixture
def filled(hf: Holdfast) -> Iterator[Holdfast]:
    """Yield the same client, with tasks in every state in the queue `crowd`."""
    with filled_queue(hf):
        yield hf
