"""Errors of feeds and their files."""

from __future__ import annotations

from collections.abc import Sequence

from .base import HoldfastError, shortened


class BudgetExceeded(HoldfastError):
    """There was no room in the budget of a feed in time. What was sent of the file stays there.

    Publish it again: that goes on where it was.

    Attributes:
        feed: its name.
        file: what was to be published.
        budget: bytes.
        waited: seconds.
        holders: the consumers that need the oldest bytes; empty: none of them has begun.
    """

    def __init__(
        self, feed: str, file: str, budget: int, waited: float, holders: Sequence[str]
    ) -> None:
        who = ", ".join(map(repr, holders[:10])) or "its consumers"
        super().__init__(
            f"the budget of feed {feed!r} ({budget:,} bytes) was used up for {waited:.3g} s, file "
            f"{shortened(file)} is not published whole: {who} did not read; start or stop "
            "them, redefine(budget=…), or publish it again, which goes on where it was"
        )
        self.feed = feed
        self.file = file
        self.budget = budget
        self.waited = waited
        self.holders = tuple(holders)


class DamagedFile(HoldfastError):
    """A file is not what was or should have been published. The feed goes on with the next one.

    Attributes:
        feed: its name; None: it is a file of this machine.
        file: name of the file.
        problem: what is wrong.
    """

    def __init__(self, feed: str | None, file: str, problem: str) -> None:
        where = "" if feed is None else f" of feed {feed!r}"
        super().__init__(
            f"file {shortened(file)}{where} is damaged: {problem}; what came before that is good, "
            "go on with the next file"
        )
        self.feed = feed
        self.file = file
        self.problem = problem


class FileTaken(HoldfastError):
    """A consumer does not hold a file any more. Another consumer may hold it by now.

    That one reads again what was not acknowledged, so drop what you have of it.

    Attributes:
        feed: its name.
        file: name of the file.
    """

    def __init__(self, feed: str, file: str) -> None:
        super().__init__(
            f"file {shortened(file)} of feed {feed!r} is not held here any more: there was no sign "
            "of life for its lease, or it was settled; what was not acknowledged is read "
            "elsewhere, drop it and go on with the next file"
        )
        self.feed = feed
        self.file = file


class FilesMissed(HoldfastError):
    """A consumer was silent for so long that files were dropped for which others needed the room.

    The error is raised once; the consumer then goes on with the files that are there.

    Attributes:
        feed: its name.
        consumer: name of the consumer.
        count: how many files.
    """

    def __init__(self, feed: str, consumer: str, count: int) -> None:
        super().__init__(
            f"consumer {consumer!r} of feed {feed!r} missed {count:,} files: it showed no sign of "
            "life for its lease, and the budget was used up; call files() again to go on, and "
            "publish what is missing under other names"
        )
        self.feed = feed
        self.consumer = consumer
        self.count = count


class FilesFailed(HoldfastError):
    """All files that a sealed feed has left for a consumer failed too often.

    They stay in the feed. `FileFeed.retry` hands them out again.

    Attributes:
        feed: its name.
        consumer: name of the consumer.
        count: how many files.
    """

    def __init__(self, feed: str, consumer: str, count: int) -> None:
        files = "1 file" if count == 1 else f"{count:,} files"
        super().__init__(
            f"consumer {consumer!r} of feed {feed!r} has read everything but {files}, which failed "
            "too often: files(failed=True) says why; remove the cause, then call retry() and read "
            "them"
        )
        self.feed = feed
        self.consumer = consumer
        self.count = count


class FileDiffers(HoldfastError, ValueError):
    """Another file of the same name was published. Nothing was changed.

    Attributes:
        feed: its name.
        file: name of the file.
    """

    def __init__(self, feed: str, file: str) -> None:
        super().__init__(
            f"feed {feed!r} has a file {shortened(file)} with other content: nothing was changed; "
            "publish this one under another name"
        )
        self.feed = feed
        self.file = file


class FeedSealed(HoldfastError):
    """The feed was sealed: it takes no more files. Nothing was published.

    Attributes:
        feed: its name.
        file: of which only a part was there when the feed was sealed by force, so that its
            consumers are told that it is damaged; None: nothing of it is there.
    """

    def __init__(self, feed: str, file: str | None = None) -> None:
        part = f", and consumers have file {shortened(file)} as damaged" if file else ""
        super().__init__(
            f"feed {feed!r} is sealed, it takes no more files{part}: "
            "use another name for what comes now"
        )
        self.feed = feed
        self.file = file


class FeedAborted(HoldfastError):
    """The feed was aborted, and everything in it was dropped.

    Attributes:
        feed: its name.
    """

    def __init__(self, feed: str) -> None:
        super().__init__(
            f"feed {feed!r} was aborted, everything in it is gone: use another name, or wait for "
            "an hour until this one can begin again"
        )
        self.feed = feed


class FeedLost(HoldfastError):
    """The server lost the feed, or the feed was not used for a day.

    Attributes:
        feed: its name.
    """

    def __init__(self, feed: str) -> None:
        super().__init__(
            f"feed {feed!r} is not the one that was begun: the server lost it, or it was not "
            "used for a day; publish its files again"
        )
        self.feed = feed


class StillPublishing(HoldfastError):
    """A feed cannot be sealed: some of its files are not published whole.

    Attributes:
        feed: its name.
        count: how many.
        files: names of some of them.
    """

    def __init__(self, feed: str, count: int, files: Sequence[str]) -> None:
        some = ", ".join(map(shortened, files)) + (", …" if len(files) < count else "")
        super().__init__(
            f"feed {feed!r} was not sealed: {count:,} of its files are not published whole: "
            f"{some}; publish them again, which goes on where it was, or seal(force=True) to "
            "count them as damaged"
        )
        self.feed = feed
        self.count = count
        self.files = tuple(files)


class UnknownConsumer(HoldfastError, LookupError):
    """A feed has no consumer of that name.

    Attributes:
        feed: its name.
        consumer: the name that is not a consumer's.
    """

    def __init__(self, feed: str, consumer: str) -> None:
        super().__init__(
            f"{shortened(consumer)} is no consumer of feed {feed!r}: its definition names them, "
            "see status()"
        )
        self.feed = feed
        self.consumer = consumer


class FeedCrowded(HoldfastError):
    """A feed has the highest number of files, or of consumers.

    Attributes:
        feed: its name.
        what: `files` or `consumers`.
    """

    def __init__(self, feed: str, what: str) -> None:
        super().__init__(f"feed {feed!r} has as many {what} as a feed may: use another feed")
        self.feed = feed
        self.what = what
