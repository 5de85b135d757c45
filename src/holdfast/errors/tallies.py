"""Errors of tallies."""

from __future__ import annotations

from .base import HoldfastError


class BadGeoData(HoldfastError, ValueError):
    """A file of geographic locations is damaged or has another format. It is not used.

    Attributes:
        path: path of the file.
        problem: what is wrong with the file.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path!r} is no usable table of places: {problem}; download it again")
        self.path = path
        self.problem = problem
