"""The stack of a thread is read while other threads collect garbage."""

import subprocess
import sys
import threading

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


def test_collections_of_other_threads_do_not_block_it() -> None:
    """Python 3.11 had a deadlock there, which ended no thread (python/cpython#106883)."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "True\n"


def test_a_thread_that_has_ended_has_no_frame() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert thread.ident is not None
    assert frame_of(thread.ident) is None
    assert frame_of(threading.get_ident()) is not None
