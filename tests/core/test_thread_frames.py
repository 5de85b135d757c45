"""The stack of a thread is read while other threads collect garbage."""

import subprocess
import sys
import threading

from core.interpreter_lock import needs_gil
from holdfast.core.concurrency.thread_frames import frame_of

PROGRAM = """
import gc, sys, threading, weakref
from holdfast.core.concurrency.thread_frames import frame_of

class Cycle:
    def __init__(self):
        self.me = self

def look():
    for n in range(3000):
        made = [Cycle() for _ in range(n % 7)]
        refs = [weakref.ref(each, lambda _: [n for n in range(100)]) for each in made]
        del made
        assert frame_of(threading.get_ident()) is not None
        kept.extend(refs)
        kept[:] = kept[-50:]

kept = []
gc.set_threshold(20)
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(gc.isenabled())
"""


REFUSED = """
import gc, sys
from holdfast.core.concurrency.thread_frames import frame_of

def refuse(event, _):
    if event == "sys._current_frames":
        raise PermissionError

sys.addaudithook(refuse)
try:
    frame_of(1)
except PermissionError:
    print(gc.isenabled())
"""


def output_of(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    ).stdout


@needs_gil  # No frames are asked for.
def test_the_collector_stays_on_if_an_audit_hook_refuses_the_call() -> None:
    assert output_of(REFUSED) == "True\n"


def test_collections_of_other_threads_do_not_block_it() -> None:
    """Python 3.11 had a deadlock there, which ended no thread (python/cpython#106883)."""
    assert output_of(PROGRAM) == "True\n"


@needs_gil  # No thread has a known frame.
def test_a_thread_that_has_ended_has_no_frame() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert thread.ident is not None
    assert frame_of(thread.ident) is None
    assert frame_of(threading.get_ident()) is not None
