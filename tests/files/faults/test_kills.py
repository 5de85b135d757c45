"""Publishers and consumers are killed and paused: every byte arrives once and in order."""

import random
import secrets
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.nemesis import Nemesis, kill, pause
from faults.processes import Process, all_ended
from faults.servers import Server
from files.faults.actors import BUDGET
from files.faults.memory import memory
from holdfast import Holdfast
from soundness import assert_sound

WINDOW = 8 * 2**17
TROUBLE_S = 4.0
LOOK_S = 0.01
ROUNDS = 10


def sent_files(folder: Path, seed: int) -> dict[str, bytes]:
    """Write files of a few sizes: most are small, one is several times the budget."""
    rng = random.Random(seed)
    files = {}
    for n in range(12):
        lines = b"".join(b"%d of %d: %d\n" % (i, n, rng.randrange(10**9)) for i in range(300 * n))
        files[f"day {n % 3}/{n}.log"] = lines
    files["large.log"] = b"".join(
        rng.randbytes(60).replace(b"\n", b".") + b"\n" for _ in range(4 * BUDGET // 61)
    )
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return files


def saved(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if ".holdfast" not in path.parts
    }


def appended(folder: Path) -> dict[str, bytes]:
    return {path.read_text(): path.with_suffix("").read_bytes() for path in folder.glob("*.name")}


def actor(role: str, server: Server, namespace: str, folder: Path, *args: str) -> Process:
    """Return a process that plays a role."""
    module = "files.faults.actors"
    name = f"{role} {' '.join(args)}"
    return Process.python("-m", module, role, server.url, namespace, folder, *args, name=name)


def round_of(server: Server, tmp_path: Path, seed: int, mode: str, struck: str) -> None:
    """Run a feed from its start to its end; kill and pause the processes of the role *struck*."""
    namespace, folder = f"kills-{secrets.token_hex(4)}", tmp_path / secrets.token_hex(4)
    files = sent_files(folder / "sent", seed)
    names = ["saver", "adder"]
    actors = {"publish": actor("publish", server, namespace, folder / "sent", mode, *names)}
    if mode == "share":
        for n in range(3):
            actors[f"append {n}"] = actor("append", server, namespace, folder / "added", f"c{n}")
    else:
        actors["save"] = actor("save", server, namespace, folder / "saved", "saver")
        actors["append"] = actor("append", server, namespace, folder / "added", "adder")
    with ExitStack() as stack, server.client() as client:
        for process in actors.values():
            stack.enter_context(process)
        victims = [process for role, process in actors.items() if role.startswith(struck)]
        peak = 0
        longest_s = 2.5 if mode == "share" else 0.5
        with Nemesis(seed, victims, actions=[kill, pause], lasting=(0.05, longest_s)):
            ends_s = time.monotonic() + TROUBLE_S
            while time.monotonic() < ends_s and any(p.is_running for p in actors.values()):
                peak = max(peak, memory(client, namespace))
                time.sleep(LOOK_S)
        with Holdfast.from_url(server.url, namespace=namespace) as hf:
            assert hf.audit().damages == ()  # while files are being read
        for process in actors.values():
            process.start()  # restart the killed ones; those that were done end again at once
        all_ended(actors.values(), 90)
        for process in actors.values():
            assert process.returncode == 0, process.output
            assert "Traceback" not in process.output, process.output
    assert peak <= BUDGET + WINDOW
    assert appended(folder / "added") == files
    if mode == "broadcast":
        assert saved(folder / "saved") == files
    with Holdfast.from_url(server.url, namespace=namespace) as hf:
        assert hf.file_feed("logs").status().state == "over"
    assert_sound(server.url, namespace)
    with server.client() as client:
        assert memory(client, namespace) < 10_000


@pytest.mark.parametrize("mode", ["broadcast", "share"])
def test_every_byte_arrives_once_though_all_are_killed(
    standalone: Server, tmp_path: Path, seed: int, mode: str
) -> None:
    round_of(standalone, tmp_path, seed, mode, "")


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("struck", ["publish", "append", ""])
@pytest.mark.parametrize("mode", ["broadcast", "share"])
def test_every_byte_arrives_once_in_many_rounds(
    standalone: Server, tmp_path: Path, seed: int, mode: str, struck: str
) -> None:
    for n in range(ROUNDS):
        round_of(standalone, tmp_path, seed + n, mode, struck)
