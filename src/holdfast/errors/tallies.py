"""What can go wrong with tallies."""

from __future__ import annotations

from .base import HoldfastError


class BadGeoData(HoldfastError, ValueError):
    """A file of places that is not what it should be; nothing of it is used.

    Attributes:
        path: of the file.
        problem: what is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path!r} is no usable table of places: {problem}; download it again")
        self.path = path
        self.problem = problem
