"""Load the scripts that take, renew and release the permits of each kind of lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..core.names import Unit
from ..core.script import Script
from . import keys

ACQUIRE: Final = Script.load("holdfast.locks", "acquire")
RELEASE: Final = Script.load("holdfast.locks", "release")
RENEW: Final = Script.load("holdfast.locks", "renew")
RW_ACQUIRE: Final = Script.load("holdfast.locks", "rw_acquire")
RW_RELEASE: Final = Script.load("holdfast.locks", "rw_release")


@dataclass(frozen=True, slots=True)
class PermitScripts:
    """The scripts for one kind of lock, or for one mode (reading or writing) of it.

    Attributes:
        acquire: takes a permit; its interface is that of `acquire.lua`.
        release: releases a permit; its interface is that of `release.lua`.
        wait_queue: returns the key of the wait queue.
        mode: part of the name of each acquisition: `r` and `w` for a reader-writer lock.
    """

    acquire: Script
    release: Script
    wait_queue: Callable[[Unit], str]
    mode: str = ""


PERMIT_SCRIPTS: Final = PermitScripts(ACQUIRE, RELEASE, keys.wait_queue)
READ_SCRIPTS: Final = PermitScripts(RW_ACQUIRE, RW_RELEASE, keys.read_queue, "r")
WRITE_SCRIPTS: Final = PermitScripts(RW_ACQUIRE, RW_RELEASE, keys.write_queue, "w")
