"""What begins anew in a forked child."""

from __future__ import annotations

import gc
import os

import pytest

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
    """Its parent goes on; what nobody uses any more is no matter."""
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
def test_a_child_knows_which_process_it_is() -> None:
    """Though it is asked for only once, and its parent had asked."""
    assert process_id() == os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(0 if process_id() == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process_id() == os.getpid()
