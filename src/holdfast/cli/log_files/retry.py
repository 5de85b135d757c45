"""`holdfast logs retry`: hand out again the files that failed too often."""

from __future__ import annotations

from typing import Annotated

import typer

from ... import NotDefined, UnknownConsumer
from ..codes import NOT_FOUND
from ..connection import Embedded, Namespace, Url, connected, fail
from ..output import AsJson, counted, say, show_json
from .standing import FEED, Feed

Name = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="Name of the file; all files if you omit it.")
]
Consumer = Annotated[
    str | None,
    typer.Option(
        "--consumer", metavar="NAME", help="Only the files that failed for this consumer."
    ),
]


def retry(
    name: Name = None,
    feed: Feed = FEED,
    consumer: Consumer = None,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Hand out again the files of a feed that failed too often.

    `holdfast logs show` lists them with the reason. The exit code is
    3 if there is no such feed or consumer.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        try:
            retried = hf.file_feed(feed).retry(consumer=consumer, name=name)
        except NotDefined:
            fail(f"there is no feed {feed!r}", code=NOT_FOUND)
        except UnknownConsumer as error:
            fail(str(error), code=NOT_FOUND)
    if as_json:
        show_json({"feed": feed, "retried": retried})
    else:
        say(f"{counted(retried, 'file')} of feed {feed} will be handed out again")
