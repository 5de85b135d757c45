"""Define and check the options of a `HoldfastBackend` in the setting `TASKS`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Final, Self

from .. import Holdfast, Retry

RESULT_TTL_S: Final = 3600.0

URL_EXAMPLE: Final = "redis://localhost:6379"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Names the server and the namespace of the queues.

    Attributes:
        url: the URL of the server; None for an embedded one.
        embedded: the folder of an embedded server; None for one with a URL.
        namespace: the key prefix that separates applications.
    """

    url: str | None = None
    embedded: str | os.PathLike[str] | None = None
    namespace: str = "holdfast"

    def opened(self) -> Holdfast:
        """Return a new client."""
        if self.url is not None:
            return Holdfast.from_url(self.url, namespace=self.namespace)
        return Holdfast.embedded(self.embedded, namespace=self.namespace)

    def problem(self) -> str:
        """Return why no client can be made of these options; '' if one can. Do not connect."""
        if (self.url is None) == (self.embedded is None):
            return f"give either 'url', such as {URL_EXAMPLE!r}, or 'embedded', a folder"
        if not isinstance(self.url, str | None):
            return f"'url' must be a str, got {type(self.url).__name__}"
        try:
            Holdfast.from_url(self.url or URL_EXAMPLE, namespace=self.namespace).close()
        except (TypeError, ValueError) as error:
            return str(error)
        return ""


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """Holds the `OPTIONS` of a backend.

    Attributes:
        url: see `ServerOptions`.
        embedded: see `ServerOptions`.
        namespace: see `ServerOptions`.
        attempts: how many attempts a task has; see `Retry`.
        timeout: seconds that an attempt may take (or a timedelta); None: no limit.
        result_ttl: seconds for which the result of a done task is kept (or a timedelta).
        modules: modules with tasks, besides the modules `tasks` of the installed applications.
        dashboard: the URL of the dashboard, for a link in the admin; empty: there is no link.
    """

    url: str | None = None
    embedded: str | os.PathLike[str] | None = None
    namespace: str = "holdfast"
    attempts: int = field(default_factory=lambda: Retry().attempts)
    timeout: float | timedelta | None = None
    result_ttl: float | timedelta = RESULT_TTL_S
    modules: Sequence[str] = ()
    dashboard: str = ""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the known ones of *options*. `unknown_options` returns the names of the others."""
        return cls(**{name: options[name] for name in _names() if name in options})

    @property
    def server(self) -> ServerOptions:
        """Return the server and the namespace of the queues."""
        return ServerOptions(self.url, self.embedded, self.namespace)

    @property
    def retry(self) -> Retry:
        """Return how often a task that raises is tried again."""
        return Retry(attempts=self.attempts)

    def problems(self) -> list[str]:
        """Return what is wrong with the values. Do not connect to the server."""
        found = [self.server.problem()]
        if isinstance(self.modules, str) or not all(isinstance(name, str) for name in self.modules):
            found.append("'modules' must be a list of names of modules")
        try:
            Retry(attempts=self.attempts)
        except (TypeError, ValueError) as error:
            found.append(f"'attempts': {error}")
        for name, value in (("timeout", self.timeout), ("result_ttl", self.result_ttl)):
            if problem := _duration_problem(name, value):
                found.append(problem)
        return [problem for problem in found if problem]


def unknown_options(options: Mapping[str, Any]) -> list[str]:
    """Return the names in *options* that are not names of options."""
    return sorted(set(options) - set(_names()))


def known_options() -> str:
    """Return the names of all options, for messages."""
    return ", ".join(_names())


def _names() -> list[str]:
    return [each.name for each in fields(BackendOptions)]


def _duration_problem(name: str, value: object) -> str:
    if value is None and name == "timeout":
        return ""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        return ""
    return f"{name!r} must be seconds, 0 or more, or a timedelta, got {value!r}"
