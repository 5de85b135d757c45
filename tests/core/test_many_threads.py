"""Blocking calls of many threads at once, and at the end of the interpreter."""

import secrets
from concurrent.futures import ThreadPoolExecutor

from faults.processes import Process
from faults.servers import Server
from holdfast import Holdfast
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

ECHO = Script.of("test/echo", "#!lua flags=no-writes\nreturn ARGV[1]")
THREADS = 64
CALLS = 100


def test_no_reply_crosses_between_sixty_four_threads(standalone: Server) -> None:
    caller = Caller(Settings.from_url(f"{standalone.url}?socket_timeout=60"))
    unit = Namespace.of("threads").unit("echo", "x")

    def crossed(thread: int) -> list[str]:
        nonces = [f"{thread}-{call}" for call in range(CALLS)]
        replies = [caller.call(ECHO, unit, [unit.key("k")], [nonce]) for nonce in nonces]
        return [
            nonce for nonce, reply in zip(nonces, replies, strict=True) if reply != nonce.encode()
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        assert [found for found in pool.map(crossed, range(THREADS)) if found] == []
    caller.close()


def test_threads_share_a_client(standalone: Server) -> None:
    url = f"{standalone.url}?socket_timeout=60"
    with Holdfast.from_url(url, namespace=f"threads-{secrets.token_hex(4)}") as hf:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda _: hf.counter("hits").add(1), range(THREADS * 10)))
        assert hf.counter("hits").total(86_400.0) == THREADS * 10


AT_WORK = """
import sys, threading
from holdfast import Holdfast

hf = Holdfast.from_url(sys.argv[1], namespace=sys.argv[2])
lease = hf.lock("held").acquire()
began = threading.Barrier(5)

def call():
    began.wait()
    while True:
        hf.counter("hits").add(1)

def wait():
    began.wait()
    hf.lock("held").acquire()

for work in (call, call, wait, wait):
    threading.Thread(target=work, daemon=True).start()
began.wait()
hf.counter("hits").add(1)
print("ends", flush=True)
"""


def test_an_interpreter_ends_while_its_threads_call_and_wait(standalone: Server) -> None:
    with Process.python(
        "-c", AT_WORK, standalone.url, f"threads-{secrets.token_hex(4)}", name="ends"
    ) as process:
        assert process.wait(60) == 0
        assert process.output.split() == ["ends"]
