"""Two processes of the application, behind one server of Holdfast."""

import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually


class Service(NamedTuple):
    """The running application.

    Attributes:
        clients: an HTTP client of each process.
        processes: they may be killed; `restart` starts them again.
        effects: a file with a line for each effect.
        url: of the server of Holdfast.
        namespace: of the application.
    """

    clients: list[httpx.Client]
    processes: list[Process]
    effects: Path
    url: str
    namespace: str

    def count(self, order: str) -> int:
        """Return how often the effect of *order* has happened."""
        found = self.effects.read_text() if self.effects.exists() else ""
        return found.splitlines().count(order)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/openapi.json").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def service(standalone: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    namespace = f"apps-{secrets.token_hex(4)}"
    effects = tmp_path_factory.mktemp("service") / "effects"
    env = {"REDIS": standalone.url, "NAMESPACE": namespace, "EFFECTS": str(effects)}
    ports = [free_port(), free_port()]
    processes = [
        Process.python(
            "-m", "uvicorn", "web_apps.service:app", "--port", str(port), "--no-access-log", env=env
        )
        for port in ports
    ]
    # uvicorn closes idle connections, perhaps at the moment when a client uses one again.
    limits = httpx.Limits(max_keepalive_connections=0)
    clients = [
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits)
        for port in ports
    ]
    with processes[0], processes[1], clients[0], clients[1]:
        for client in clients:
            eventually(lambda client=client: answers(client))
        yield Service(clients, processes, effects, standalone.url, namespace)
