"""The calls to the server about one feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from ...core._async.caller import Argument, AsyncCaller, CallKind
from ...core._async.catalog import AsyncCatalog
from ...core.names import Unit
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...core.script import Script
from ...core.stored import decoding
from ...errors import (
    DefinitionConflict,
    FeedAborted,
    FeedCrowded,
    FeedLost,
    FeedSealed,
    NotDefined,
)
from .. import keys
from ..file_status import FileStatus, file_statuses
from ..options import FeedOptions
from ..states import FeedStatus

LIST: Final = Script.load("holdfast.files", "list")
STATUS: Final = Script.load("holdfast.files", "status")

FILES_AT_ONCE: Final = 1000
"""Files that one call checks."""


class AsyncFeedStore:
    """Make the calls about one feed.

    Args:
        caller: calls the server.
        notifier: reports changes of the feed.
        renewer: renews the leases of sessions and files.
        catalog: lists the feeds.
        unit: the feed.
        options: options that this program gave; None: those that the server stores.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        renewer: Renewer,
        catalog: AsyncCatalog,
        unit: Unit,
        options: FeedOptions | None,
    ) -> None:
        self.unit = unit
        self.notifier = notifier
        self.renewer = renewer
        self.channel = unit.key("bell")
        self.options = options
        self._caller = caller
        self._catalog = catalog

    @property
    def name(self) -> str:
        """Return the name of the feed."""
        return self.unit.name

    @property
    def packed_options(self) -> bytes:
        """Return the options of this program as the scripts take them."""
        return b"" if self.options is None else self.options.packed()

    async def call(
        self,
        script: Script,
        *args: Argument,
        kind: CallKind = CallKind.ORDINARY,
        durable: bool = True,
    ) -> Any:
        """Run a script that is harmless to repeat; it is repeated if the reply is lost."""
        with decoding(self.unit):
            names = script.keys(self.unit)
            return await self._caller.call(
                script, self.unit, names, args, kind=kind, harmless=True, durable=durable
            )

    async def chunks(self, number: int, index: int, count: int) -> list[bytes | None]:
        """Return chunks of a file as they are stored; None for a missing one."""
        # A command, because a script would copy the chunks twice.
        fields = [f"{number}:{i}" for i in range(index, index + count)]
        with decoding(self.unit):
            found: list[bytes | None] = await self._caller.read(
                self.unit, "HMGET", keys.chunks(self.unit), *fields, kind=CallKind.BULK
            )
        return found

    async def settle(
        self,
        script: Script,
        args: Sequence[Argument],
        *,
        repeat: Callable[..., Any],
        op_id: str | None = None,
    ) -> Any:
        """Run a script that counts once; if its reply is lost, the script returns it again.

        Args:
            script: the script.
            args: its arguments, after those of the ledger.
            repeat: function that repeats the operation; it takes its `op_id`.
            op_id: id of the operation, if this is a repetition.
        """
        with decoding(self.unit):
            return await self._caller.write(
                script, self.unit, *args, op_id=op_id, repeat=repeat, harmless=True
            )

    async def note(self) -> None:
        """Add the feed to the catalog."""
        await self._catalog.note(self.unit)

    async def definition(self) -> FeedOptions | None:
        """Return the options that the server stores, if any."""
        with decoding(self.unit):
            packed_options = await self._caller.read(
                self.unit, "HGET", keys.meta(self.unit), "definition"
            )
        return (
            None
            if packed_options is None
            else FeedOptions.parse(packed_options, keys.meta(self.unit))
        )

    async def status(self) -> FeedStatus:
        """Return the status of the feed."""
        with decoding(self.unit):
            reply = await self._caller.call(STATUS, self.unit, STATUS.keys(self.unit), [])
        return FeedStatus.parse(self.unit, reply)

    async def files(self, limit: int) -> list[FileStatus]:
        """Return those of the latest *limit* files that are stored, the newest first."""
        found, _ = await self._listed(limit, 0, failed=False)
        return found

    async def failed_files(self, limit: int) -> list[FileStatus]:
        """Return the newest *limit* files that failed too often."""
        found: list[FileStatus] = []
        below = 0
        while len(found) < limit:
            some, below = await self._listed(FILES_AT_ONCE, below, failed=True)
            found += some
            if not below:
                break
        return found[:limit]

    async def _listed(
        self, limit: int, below: int, *, failed: bool
    ) -> tuple[list[FileStatus], int]:
        args = [limit, below, int(failed)]
        reply = await self._caller.call(LIST, self.unit, LIST.keys(self.unit), args)
        with decoding(keys.files(self.unit)):
            return file_statuses(reply, keys.meta(self.unit))

    async def replace(self, script: Script, before: bytes, definition: bytes) -> Any:
        """Change the options if they still are *before*."""
        with decoding(self.unit):
            return await self._caller.call(
                script, self.unit, script.keys(self.unit), [before, definition], harmless=True
            )

    def refuse(self, reply: Any) -> NoReturn:
        """Raise the error for a reply that refuses a call."""
        match bytes(reply[0]):
            case b"undefined":
                raise NotDefined(f"the definition of {self.unit}")
            case b"conflict":
                stored = FeedOptions.parse(reply[1], keys.meta(self.unit))
                what = f"the definition of {self.unit}"
                fixed = self.options is not None and not stored.becomes(self.options)
                raise DefinitionConflict(what, str(stored), str(self.options), fixed=fixed)
            case b"sealed":
                raise FeedSealed(self.name)
            case b"aborted":
                raise FeedAborted(self.name)
            case b"too_many_consumers":
                raise FeedCrowded(self.name, "consumers")
            case b"too_many_files":
                raise FeedCrowded(self.name, "files")
        raise FeedLost(self.name)
