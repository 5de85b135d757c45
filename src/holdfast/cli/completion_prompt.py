"""Prompt for a name, and complete it while the user types."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.output import ColorDepth, create_output

from .. import HoldfastError
from .output import printable

if TYPE_CHECKING:
    from .. import Completions, Match

MENU_ROWS: Final = 10
"""Lines below the prompt for the menu. The menu scrolls if there are more names."""


class _MenuItem(Completion):
    """Shows a name with its id in the menu. If chosen, the name replaces the *typed* text."""

    def __init__(self, match: Match, typed: str) -> None:
        shown, meta = printable(match.name), printable(match.id or "")
        super().__init__(match.name, -len(typed), display=shown, display_meta=meta)
        self.match = match


class _ServerCompleter(Completer):
    """Asks the server for the names that match the text so far.

    Attributes:
        problem: the error of the last request; empty if it succeeded.
        redraw: called to show a problem, because the prompt is redrawn only if the menu changes.
    """

    def __init__(self, names: Completions, limit: int) -> None:
        self.problem = ""
        self.redraw: Callable[[], object] = str
        self._names = names
        self._limit = limit

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield the matching names as menu items."""
        del complete_event
        text = document.text_before_cursor
        try:
            found = self._names.search(text, limit=self._limit)
        except HoldfastError as error:  # show the error, and try again at the next key
            self.problem = f"{printable(str(error))}\n"
            self.redraw()
            return
        self.problem = ""
        for match in found:
            yield _MenuItem(match, text)


def ask(names: Completions, question: str, limit: int) -> Match | str | None:
    """Return the chosen match, or the typed text; None if the user interrupted the prompt.

    Show the prompt on standard error, so that standard output can be a pipe.
    """
    completer = _ServerCompleter(names, limit)
    session: PromptSession[str] = PromptSession(
        lambda: [("fg:ansired", completer.problem), ("", printable(question))],
        completer=ThreadedCompleter(completer),  # a slow server must not block the keys
        complete_while_typing=True,
        reserve_space_for_menu=min(limit, MENU_ROWS),
        color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
        output=create_output(stdout=sys.stderr),
    )
    completer.redraw = session.app.invalidate
    line = session.default_buffer
    chosen: list[Match] = []
    accept = line.accept_handler

    def accepted(line: Buffer) -> bool:
        choice = line.complete_state and line.complete_state.current_completion
        if isinstance(choice, _MenuItem):
            chosen.append(choice.match)
        return accept is not None and accept(line)

    line.accept_handler = accepted
    try:
        typed = session.prompt(pre_run=line.start_completion)
    except (KeyboardInterrupt, EOFError):
        return None
    return chosen[0] if chosen else typed
