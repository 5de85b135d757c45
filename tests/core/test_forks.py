"""What begins anew in a forked child."""

import asyncio
import gc
import os
import weakref

import pytest

from holdfast.core.runtime._async import Local as AsyncLocal
from holdfast.core.runtime._sync import Local
from holdfast.core.runtime.forks import begins_anew, process_id


class Holder:
    """Holds something of its process."""

    def __init__(self) -> None:
        self.held = "something"

    def begin_anew(self) -> None:
        """Hold nothing."""
        self.held = ""


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_begins_anew() -> None:
    holder, gone = Holder(), Holder()
    begins_anew(holder)
    begins_anew(gone)
    del gone
    gc.collect()
    child = os.fork()
    if child == 0:
        os._exit(0 if holder.held == "" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert holder.held == "something"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_is_of_a_process_is_another_in_its_child() -> None:
    loop = asyncio.new_event_loop()
    plain, of_loops = Local(object), AsyncLocal(object)

    async def of_loop() -> object:
        return of_loops.here()

    def here() -> tuple[object, object]:
        return plain.here(), loop.run_until_complete(of_loop())

    before = here()
    child = os.fork()
    if child == 0:
        try:
            os._exit(sum(one is other for one, other in zip(before, here(), strict=True)))
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(one is other for one, other in zip(before, here(), strict=True))
    loop.close()


def test_what_is_of_a_loop_goes_with_it() -> None:
    of_loops = AsyncLocal(Holder)

    async def here() -> weakref.ref[Holder]:
        return weakref.ref(of_loops.here())

    first = asyncio.run(here())
    assert first() is not None
    second = asyncio.run(here())
    gc.collect()
    assert first() is None
    assert second() is not None


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_knows_which_process_it_is() -> None:
    assert process_id() == os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(0 if process_id() == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process_id() == os.getpid()
