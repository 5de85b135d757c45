"""Errors of feeds and their files."""

from __future__ import annotations

from collections.abc import Sequence

from .base import HoldfastError, shortened


class BudgetExceeded(HoldfastError):
    """Publishing a file timed out, because the feed had used up its byte budget.

    The part that was sent stays in the feed. Publish the file again to continue.

    Attributes:
        feed: name of the feed.
        file: name of the file.
        budget: size of the budget in bytes.
        waited: seconds that `publish` waited.
        holders: the consumers that have not read the oldest bytes; empty if no consumer has begun.
    """

    def __init__(
        self, feed: str, file: str, budget: int, waited: float, holders: Sequence[str]
    ) -> None:
        who = ", ".join(map(repr, holders[:10])) or "its consumers"
        super().__init__(
            f"the budget of feed {feed!r} ({budget:,} bytes) was used up for {waited:.3g} s, so "
            f"file {shortened(file)} is published only in part: {who} did not read; start or stop "
            "them, redefine(budget=…), or publish the file again to continue"
        )
        self.feed = feed
        self.file = file
        self.budget = budget
        self.waited = waited
        self.holders: tuple[str, ...] = tuple(holders)


class DamagedFile(HoldfastError):
    """A file is damaged or incomplete. The next files of the feed can be read.

    Attributes:
        feed: name of the feed; None: the file is on this machine.
        file: name of the file.
        problem: what is wrong with the file.
    """

    def __init__(self, feed: str | None, file: str, problem: str) -> None:
        where = "" if feed is None else f" of feed {feed!r}"
        super().__init__(
            f"file {shortened(file)}{where} is damaged: {problem}; the content before that is "
            "good; go on with the next file"
        )
        self.feed = feed
        self.file = file
        self.problem = problem


class FileTaken(HoldfastError):
    """A consumer does not hold a file any more. Another consumer may hold it by now.

    The other consumer reads again what was not acknowledged. So discard data that you have read but
    not acknowledged.

    Attributes:
        feed: name of the feed.
        file: name of the file.
    """

    def __init__(self, feed: str, file: str) -> None:
        super().__init__(
            f"file {shortened(file)} of feed {feed!r} is not held here any more: its lease was not "
            "renewed in time, or the file was settled; another consumer reads what was not "
            "acknowledged, so drop it and go on with the next file"
        )
        self.feed = feed
        self.file = file


class FilesMissed(HoldfastError):
    """A feed deleted files that a consumer had not read.

    This happens if the consumer does not renew its lease in time and the feed has used up its byte
    budget. The error is raised once; the consumer then continues with the remaining files.

    Attributes:
        feed: name of the feed.
        consumer: name of the consumer.
        count: number of files that the consumer missed.
    """

    def __init__(self, feed: str, consumer: str, count: int) -> None:
        super().__init__(
            f"consumer {consumer!r} of feed {feed!r} missed {count:,} files: it did not renew its "
            "lease in time, and the budget was used up; call files() again to go on, and publish "
            "the missing files under other names"
        )
        self.feed = feed
        self.consumer = consumer
        self.count = count


class FilesFailed(HoldfastError):
    """A consumer has failed too often on each file that it has not finished.

    The feed is sealed: it accepts no more files. The failed files stay in the feed. After
    `FileFeed.retry` the consumer gets them again.

    Attributes:
        feed: name of the feed.
        consumer: name of the consumer.
        count: number of failed files.
    """

    def __init__(self, feed: str, consumer: str, count: int) -> None:
        files = "1 file" if count == 1 else f"{count:,} files"
        super().__init__(
            f"consumer {consumer!r} of feed {feed!r} has read everything but {files}, which failed "
            "too often: files(failed=True) lists the reasons; remove the cause, call retry(), and "
            "read again"
        )
        self.feed = feed
        self.consumer = consumer
        self.count = count


class FileDiffers(HoldfastError, ValueError):
    """The feed has a file of the same name with other content. Nothing was changed.

    Attributes:
        feed: name of the feed.
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
    """The feed is sealed: it accepts no more files. Nothing was published.

    Attributes:
        feed: name of the feed.
        file: name of the file, if only a part of it was published when the feed was sealed with
            `force`: consumers get it as damaged. None: the feed has no part of it.
    """

    def __init__(self, feed: str, file: str | None = None) -> None:
        part = f", and consumers have file {shortened(file)} as damaged" if file else ""
        super().__init__(
            f"feed {feed!r} is sealed, it takes no more files{part}: "
            "use another name for further files"
        )
        self.feed = feed
        self.file = file


class FeedAborted(HoldfastError):
    """The feed was aborted, and all its files were deleted.

    Attributes:
        feed: name of the feed.
    """

    def __init__(self, feed: str) -> None:
        super().__init__(
            f"feed {feed!r} was aborted, everything in it is gone: use another name, or use this "
            "one again after an hour"
        )
        self.feed = feed


class FeedLost(HoldfastError):
    """The server lost the feed, or deleted it because it was not used for a day.

    Attributes:
        feed: name of the feed.
    """

    def __init__(self, feed: str) -> None:
        super().__init__(
            f"feed {feed!r} is not the one that was begun: the server lost it, or it was not "
            "used for a day; publish its files again"
        )
        self.feed = feed


class StillPublishing(HoldfastError):
    """A feed was not sealed, because some of its files are published only in part.

    Attributes:
        feed: name of the feed.
        count: number of such files.
        files: names of some of them.
    """

    def __init__(self, feed: str, count: int, files: Sequence[str]) -> None:
        some = ", ".join(map(shortened, files)) + (", …" if len(files) < count else "")
        super().__init__(
            f"feed {feed!r} was not sealed: {count:,} of its files are not published whole: "
            f"{some}; publish them again to complete them, or seal(force=True) to mark them "
            "as damaged"
        )
        self.feed = feed
        self.count = count
        self.files: tuple[str, ...] = tuple(files)


class UnknownConsumer(HoldfastError, LookupError):
    """The definition of a feed lists its consumers, and this name is not among them.

    Attributes:
        feed: name of the feed.
        consumer: the name that is not listed.
    """

    def __init__(self, feed: str, consumer: str) -> None:
        super().__init__(
            f"{shortened(consumer)} is no consumer of feed {feed!r}: its definition names them, "
            "see status()"
        )
        self.feed = feed
        self.consumer = consumer


class FeedCrowded(HoldfastError):
    """A feed has the largest allowed number of files, or of consumers. Nothing was added.

    Attributes:
        feed: name of the feed.
        what: `files` or `consumers`.
    """

    def __init__(self, feed: str, what: str) -> None:
        super().__init__(f"feed {feed!r} has as many {what} as a feed may: use another feed")
        self.feed = feed
        self.what = what
