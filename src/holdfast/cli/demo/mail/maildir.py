"""A maildir that knows which Message-IDs it holds.

Holds no state but the maildir itself: what is on the disk is the truth, so a demo that was killed
and starts again finds every mail that an SMTP client was promised.
"""

from __future__ import annotations

import mailbox
from collections import Counter
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path


class MailStore:
    """Mails as files, by the rules of maildir: a reader never meets half a mail."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maildir = mailbox.Maildir(folder)

    def add(self, content: bytes) -> None:
        """Store one mail; it is on the disk (`fsync`) when this returns.

        Raises:
            OSError: it was not stored, the disk is full for example.
            mailbox.Error: it was not stored, two writers chose the same file name.
        """
        self._maildir.add(content.replace(b"\r\n", b"\n"))

    def message_ids(self) -> Counter[str]:
        """How many copies of each mail are on the disk right now."""
        return Counter(self._message_id(key) for key in self._maildir.keys())  # noqa: SIM118

    def _message_id(self, key: str) -> str:
        with self._maildir.get_file(key) as file:
            return message_id(headers(file.read()))


def headers(content: bytes) -> Message:
    """The headers of a mail, without a look at its body."""
    return BytesHeaderParser().parsebytes(content)


def message_id(mail: Message) -> str:
    """The Message-ID without its angle brackets, empty when there is none."""
    return str(mail["Message-ID"] or "").strip().strip("<>")
