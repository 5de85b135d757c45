"""Whether everything in a namespace fits together, at the end of a test that has done its worst."""

from __future__ import annotations

from holdfast import Holdfast


def assert_sound(url: str, namespace: str = "holdfast") -> None:
    """Have a failed test if an audit finds anything, or nothing to look at."""
    with Holdfast.from_url(url, namespace=namespace) as hf:
        report = hf.audit()
    assert not report.damages, report.damages
    assert report.keys > 0
