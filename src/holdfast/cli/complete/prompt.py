"""A line in which names are completed as they are typed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.output import ColorDepth, create_output

from ... import HoldfastError
from ..output import printable

if TYPE_CHECKING:
    from ... import Completions

MENU_ROWS: Final = 10
"""Kept free below the line; the menu scrolls if there are more names."""


class _Names(Completer):
    """What the server finds for the text so far.

    Attributes:
        problem: why it could not be asked the last time.
        redraw: called when there is a problem, for else nothing new is to be seen.
    """

    def __init__(self, names: Completions, limit: int) -> None:
        self.problem = ""
        self.redraw: Callable[[], object] = str
        self._names = names
        self._limit = limit

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """The names; the id beside each that has one."""
        del complete_event
        text = document.text_before_cursor
        try:
            found = self._names.search(text, limit=self._limit)
        except HoldfastError as error:  # the next letter may do better
            self.problem = f"{printable(str(error))}\n"
            self.redraw()
            return
        self.problem = ""
        for match in found:
            shown, meta = printable(match.name), printable(match.id or "")
            yield Completion(match.name, -len(text), display=shown, display_meta=meta)


def asked(names: Completions, question: str, limit: int) -> str | None:
    """What was typed or chosen; None: it was broken off.

    The line is drawn on standard error, so that the answer may go through a pipe.
    """
    completer = _Names(names, limit)
    session: PromptSession[str] = PromptSession(
        lambda: [("fg:ansired", completer.problem), ("", printable(question))],
        completer=ThreadedCompleter(completer),  # a slow server must not hold up the keys
        complete_while_typing=True,
        reserve_space_for_menu=min(limit, MENU_ROWS),
        color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
        output=create_output(stdout=sys.stderr),
    )
    completer.redraw = session.app.invalidate
    try:
        return session.prompt(pre_run=session.default_buffer.start_completion)
    except (KeyboardInterrupt, EOFError):
        return None
