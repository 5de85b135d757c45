# Generated from _async/feed_store.py by tools/unasync.py: edit that, then run `make sync`.
"""Call the server about one feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from ...core._sync.caller import Argument, Caller, CallKind
from ...core._sync.catalog import Catalog
from ...core.definitions import OnConflict, checked_on_conflict, log_kept
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
"""Number of files that one call checks."""


class FeedStore:
    """Call the server about one feed, and raise the errors of refused calls.

    Args:
        caller: calls the server.
        notifier: reports changes of the feed.
        renewer: renews the leases of sessions and files.
        catalog: lists the feeds.
        unit: the feed.
        options: options that the user gave; None: use those that the server stores.
        on_conflict: what happens if the server stores another budget or lease.
    """

    def __init__(
        self,
        caller: Caller,
        notifier: Notifier,
        renewer: Renewer,
        catalog: Catalog,
        unit: Unit,
        options: FeedOptions | None,
        on_conflict: OnConflict,
    ) -> None:
        self.unit = unit
        self.notifier = notifier
        self.renewer = renewer
        self.channel: str = unit.channel
        self.options = options
        self._on_conflict = checked_on_conflict(on_conflict)
        self._is_compared = False
        self._caller = caller
        self._catalog = catalog

    @property
    def name(self) -> str:
        """Return the name of the feed."""
        return self.unit.name

    @property
    def packed_options(self) -> bytes:
        """Return the argument *definition* of scripts: the user's options, or empty."""
        if self.options is None:
            return b""
        on_conflict = "" if self._on_conflict == "keep" else self._on_conflict
        return on_conflict.encode() + b" " + self.options.packed()

    def call(
        self,
        script: Script,
        *args: Argument,
        kind: CallKind = CallKind.ORDINARY,
        durable: bool = True,
    ) -> Any:
        """Run a script that is harmless to repeat. Repeat it if its reply is lost."""
        with decoding(self.unit):
            names = script.keys(self.unit)
            return self._caller.call(
                script, self.unit, names, args, kind=kind, harmless=True, durable=durable
            )

    def chunks(self, number: int, index: int, count: int) -> list[bytes | None]:
        """Return *count* stored chunks of the file *number*, from *index* on; None for each that is
        missing."""
        # Use a command, because a script would copy the chunks twice.
        fields = [f"{number}:{i}" for i in range(index, index + count)]
        with decoding(self.unit):
            found: list[bytes | None] = self._caller.read(
                self.unit, "HMGET", keys.chunks(self.unit), *fields, kind=CallKind.BULK
            )
        return found

    def settle(
        self,
        script: Script,
        args: Sequence[Argument],
        *,
        repeat: Callable[..., Any],
        op_id: str | None = None,
    ) -> Any:
        """Run a script that takes effect once, even if the call is repeated after a lost reply.

        Args:
            script: the script.
            args: arguments of the script after writer and number of the operation.
            repeat: function that repeats the operation; called with its `op_id`.
            op_id: id of the operation, if this call is a repetition.
        """
        with decoding(self.unit):
            return self._caller.write(
                script, self.unit, *args, op_id=op_id, repeat=repeat, harmless=True
            )

    def note(self) -> None:
        """Add the feed to the catalog. Log once if the stored options differ from the user's."""
        self._catalog.note(self.unit)
        if not self._is_compared:
            self._is_compared = True
            self.effective_options()

    def effective_options(self) -> FeedOptions | None:
        """Return the options that the server stores; if there are none, the user's. Log a warning
        if they differ."""
        stored = self.definition()
        if stored is not None and self.options not in (None, stored):
            log_kept(f"the definition of {self.unit}", stored, self.options)
        return stored or self.options

    def definition(self) -> FeedOptions | None:
        """Return the options that the server stores; None if the feed has not begun."""
        meta = keys.meta(self.unit)
        with decoding(self.unit):
            packed_options = self._caller.read(self.unit, "HGET", meta, "definition")
        return None if packed_options is None else FeedOptions.parse(packed_options, meta)

    def status(self) -> FeedStatus:
        """Return the status of the feed."""
        with decoding(self.unit):
            reply = self._caller.call(STATUS, self.unit, STATUS.keys(self.unit), [])
        return FeedStatus.parse(self.unit, reply)

    def files(self, limit: int) -> list[FileStatus]:
        """Check the newest *limit* files; return those that are still stored, the newest first."""
        found, _ = self._listed(limit, 0, failed=False)
        return found

    def failed_files(self, limit: int) -> list[FileStatus]:
        """Return up to *limit* files that failed too often, the newest first."""
        found: list[FileStatus] = []
        below = 0
        while len(found) < limit:
            some, below = self._listed(FILES_AT_ONCE, below, failed=True)
            found += some
            if not below:
                break
        return found[:limit]

    def _listed(self, limit: int, below: int, *, failed: bool) -> tuple[list[FileStatus], int]:
        args = [limit, below, int(failed)]
        reply = self._caller.call(LIST, self.unit, LIST.keys(self.unit), args)
        with decoding(keys.files(self.unit)):
            return file_statuses(reply, keys.meta(self.unit))

    def replace(self, script: Script, before: bytes, definition: bytes) -> Any:
        """Run *script*, which replaces the stored options by *definition* if they equal *before*.

        Args:
            script: the script.
            before: options that the caller has read, as MessagePack.
            definition: new options, as MessagePack.
        """
        with decoding(self.unit):
            return self._caller.call(
                script, self.unit, script.keys(self.unit), [before, definition], harmless=True
            )

    def refuse(self, reply: Any) -> NoReturn:
        """Raise the error for a *reply* that refuses a call."""
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
