"""Servers start, die and come back; clusters form and move slots; nothing outlives the run."""

import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest
import redis

from faults.clusters import Cluster
from faults.ports import LOOPBACK
from faults.processes import TESTS
from faults.servers import Server
from faults.waiting import eventually


def test_acknowledged_writes_survive_a_kill_with_persistence_always(fresh_server: Server) -> None:
    fresh_server.client().set("kept", "1")
    fresh_server.kill()
    assert not fresh_server.is_running
    fresh_server.start()
    assert fresh_server.client().get("kept") == b"1"


def test_a_stopped_server_refuses_connections_and_its_port_stays_reserved() -> None:
    with Server() as server:
        server.stop()
        with pytest.raises(redis.ConnectionError):
            server.execute("PING")
        server.start()
        assert server.execute("PING")


def test_a_paused_server_answers_after_it_is_resumed(fresh_server: Server) -> None:
    fresh_server.pause()
    with pytest.raises(redis.TimeoutError):
        fresh_server.client(socket_timeout=0.3).ping()
    assert fresh_server.is_running
    fresh_server.resume()
    assert fresh_server.client().ping()


def test_a_server_started_by_a_thread_outlives_that_thread() -> None:
    """The kernel's death signal follows threads; a nemesis restarts servers from one."""
    with Server() as server:
        thread = threading.Thread(target=server.restart)
        thread.start()
        thread.join()
        time.sleep(0.05)
        assert server.execute("PING")


def test_a_server_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(AssertionError, match="no-such-option"), Server("--no-such-option", "1"):
        pass


def test_no_server_outlives_a_killed_test_run() -> None:
    program = (
        "from faults.servers import Server; server = Server(); server.start();"
        "print(server.port, flush=True); input()"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(TESTS), "TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as run,
    ):
        assert run.stdout is not None
        port = int(run.stdout.readline())
        run.send_signal(signal.SIGKILL)

    eventually(lambda: _refuses(port))


def test_a_cluster_heals_after_a_node_was_killed(cluster: Cluster) -> None:
    cluster.nodes[1].kill()
    cluster.nodes[1].start()
    cluster.wait_until_ok()
    cluster.client().set("healed", "1")


def test_the_clients_of_a_cluster_are_led_through_proxies(cluster: Cluster) -> None:
    slot = cluster.slot_of("led")
    with cluster.proxied() as proxies:
        proxy = proxies[cluster.owner(slot)]
        fault = proxy.drop_reply(match=b"led")
        with pytest.raises(redis.ConnectionError):
            cluster.client().set("led", "1")
        assert fault.fired == 1
    assert cluster.client().get("led") == b"1"


def test_a_slot_half_way_redirects_and_arrives_whole(cluster: Cluster) -> None:
    keys = [f"{{moving}}:{number}" for number in range(10)]
    client = cluster.client()
    for key in keys:
        client.set(key, key)
    slot = cluster.slot_of(keys[0])
    source = cluster.owner(slot)
    target = next(node for node in cluster.nodes if node is not source)

    with cluster.moving_slot(slot, target) as move:
        assert move.migrate(5) == 5
        with pytest.raises(redis.exceptions.AskError):
            source.execute("GET", "{moving}:absent")
        with pytest.raises(redis.exceptions.TryAgainError):
            source.execute("MGET", *keys)

    assert cluster.owner(slot) is target
    assert cluster.client().mget(keys) == [key.encode() for key in keys]
    with pytest.raises(redis.exceptions.MovedError):
        source.execute("GET", keys[0])
    cluster.move_slot(slot, source)


def _refuses(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port)).close()
    except ConnectionRefusedError:
        return True
    return False
