"""Signals interrupt a blocking client: `python -m client.interrupted_by_signals URL SECONDS`.

Each use runs again and again in the main thread for so many seconds, and a timer interrupts it at
random times. The last line of the output is the JSON of what is wrong afterwards.
"""

import faulthandler
import gc
import json
import logging
import random
import secrets
import sys
import threading
import time
import warnings
from functools import partial

from client.interrupted_uses import USES
from faults.interrupts import handler, interrupted_after
from holdfast import Holdfast, HoldfastError, OutcomeUnknown, ServerUnavailable

HANGS_S = 60.0
FREE_S = 10.0


def main(url: str, seconds: float) -> list[str]:
    """Interrupt each use; return what is wrong."""
    wrong: list[str] = []
    hf = Holdfast.from_url(url, namespace=f"signals-{secrets.token_hex(4)}")
    for name, use in USES.items():
        work = partial(use, hf, url)
        work()
        for raised in (KeyboardInterrupt, TimeoutError):
            wrong += struck(name, work, raised, seconds / 2)
        wrong += [f"{name} in another thread {each}" for each in elsewhere(work)]
    until = time.monotonic() + FREE_S
    while (held := {**hf.locks(), **hf.semaphores(), **hf.rw_locks()}) and time.monotonic() < until:
        time.sleep(0.05)
    wrong += [f"{each} is held" for each in held]
    wrong += [f"close {each}" for each in elsewhere(hf.close)]
    return wrong


def struck(
    name: str, work: partial[None], raised: type[BaseException], seconds: float
) -> list[str]:
    """Interrupt *work* again and again; what another error than *raised* says."""
    wrong: list[str] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with handler(raised):
                interrupted_after(random.uniform(0.00005, 0.02), work, raised)
        except (OutcomeUnknown, ServerUnavailable) as error:  # it has swallowed the interrupt
            wrong.append(f"{name}: {raised.__name__} has become {error!r}")
        except (HoldfastError, AssertionError) as error:
            wrong.append(f"{name}: {error!r}")
        except RuntimeError as error:
            # What Python makes of an interrupt while a condition takes its lock again.
            if not isinstance(error.__context__, raised):
                wrong.append(f"{name}: {error!r}")
    return wrong


def elsewhere(work: partial[None]) -> list[str]:
    """Run *work* in another thread; what is wrong with it."""
    gc.collect()  # the frames that an exception keeps in a cycle, and the leases in them
    failures: list[str] = ["hangs"]

    def run() -> None:
        try:
            work()
            failures.clear()
        except Exception as error:  # noqa: BLE001 (reported)
            failures[:] = [f"fails: {error!r}"]

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANGS_S)
    return failures


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()
    sys.unraisablehook = lambda _: None  # what a finalizer raises, Python itself drops
    faulthandler.dump_traceback_later(20 * HANGS_S + 20 * float(sys.argv[2]), exit=True)
    print(json.dumps(main(sys.argv[1], float(sys.argv[2]))))
