"""Check the options of cached functions, without I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, Self, TypedDict, cast, get_args

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds
from ..core.codec import JSON, Codec
from ..core.compression import Compression, checked_compression
from ..core.near.options import Near, checked_near
from .signature import Tags

OnOutage = Literal["call", "raise"]

MAX_LIFE_MS: Final = 366 * 86_400 * 1000

MIN_LEASE_MS: Final = 1000

MAX_LEASES: Final = 10
"""Number of lease durations after which a call of the function counts as hanging, so that its lease
is not renewed any more."""

TICK_MS: Final = 10
"""Unit, in milliseconds, of the durations in a stored value."""

EPOCH_MARGIN_MS: Final = 600_000
"""How much longer an epoch lives at least than the values that have stored it."""


class CachedOptions(TypedDict, total=False):
    """The options of a cached function.

    Attributes:
        ttl: seconds for which a result is fresh, or a function that returns them from the result;
            0 or less: the result is not stored. Required.
        stale: seconds after *ttl* for which the old result is returned at once, while one process
            computes a new one; 0 by default. It is also returned if the function fails.
        refresh: seconds after which a result is computed again in the background, by one process,
            although it is fresh; None: not before *ttl*.
        jitter: fraction by which *ttl* and *refresh* are shortened at random, so that results that
            were stored together do not expire together; 0.1 by default.
        none_ttl: as *ttl*, for the result None; 0: None is not stored; None: as other results.
        error_ttl: class of exceptions → seconds for which an exception of exactly this class is
            stored and raised again. Other exceptions are never stored.
        tags: returns the tags of a result, from the arguments of the call; or the tags of all
            results. `invalidate_tags` invalidates all results with a tag.
        key: returns what identifies a call, from its arguments; by default all arguments do.
        ignore: names of parameters that do not identify a call, such as `session` or `self`.
        version: change it when the function returns other results, so that no old one is used.
        name: name of the function for the server; by default its module and qualified name.
        codec: encodes results; `JSON` by default, `MSGPACK` takes less memory.
        compress: how large results are compressed: `zlib` (by default), None (not at all), or
            `zstd`, which needs Python 3.14 or the extra `zstd` in all processes.
        compress_over: size in bytes up to which a result is not compressed; 4,096 by default.
        lease: seconds after which another process may call the function, if the process that calls
            it is lost; at least 1, 30 by default. The lease is renewed while the function runs, for
            ten times as long at most; then the call counts as hanging, and its result is not
            stored.
        timeout: seconds to wait for a result that another caller computes; None: no limit. 30 by
            default.
        on_outage: what a call does if the server is not available: `call` the function, or `raise`.
        outage_concurrency: number of calls that may then run at once in a process; 32 by default.
        near: whether fresh results are also kept in the memory of this process; `Near(…)` sets its
            size. The server reports each change, and nothing is served from memory while the
            connection for these reports is not confirmed.
    """

    ttl: Duration | Callable[[Any], Duration]
    stale: Duration
    refresh: Duration | None
    jitter: float
    none_ttl: Duration | None
    error_ttl: Mapping[type[Exception], Duration]
    tags: Tags
    key: Callable[..., Any] | None
    ignore: Iterable[str]
    version: int
    name: str | None
    codec: Codec
    compress: Compression | None
    compress_over: int
    lease: Duration
    timeout: Duration | None
    on_outage: OnOutage
    outage_concurrency: int
    near: Near | bool


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long one result is fresh, when it is refreshed, and how long it may be stale (ms)."""

    fresh_ms: int
    refresh_ms: int
    stale_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """The checked options; see `CachedOptions`."""

    ttl: Duration | Callable[[Any], Duration]
    stale_ms: int
    refresh_ms: int | None
    jitter: float
    none_ttl: Duration | None
    error_ttl: Mapping[type[Exception], Duration]
    tags: Tags
    key: Callable[..., Any] | None
    ignore: Iterable[str]
    version: int
    name: str | None
    codec: Codec
    compress: Compression | None
    compress_over: int
    lease_ms: int
    timeout_s: float | None
    on_outage: OnOutage
    outage_concurrency: int
    near: Near | None

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Self:
        """Return the options that a user gives.

        Raises:
            TypeError, ValueError: an option is unknown, missing or not valid.
        """
        if unknown := given.keys() - CachedOptions.__annotations__.keys():
            raise TypeError(f"cached has no option {min(unknown)!r}")
        if "ttl" not in given:
            raise TypeError("cached needs ttl=…, the seconds for which a result is fresh")
        options = cast(CachedOptions, given)
        ttl, none_ttl, refresh = options["ttl"], options.get("none_ttl"), options.get("refresh")
        errors, key = options.get("error_ttl") or {}, options.get("key")
        if not isinstance(errors, Mapping):
            raise TypeError(f"error_ttl must map classes of exceptions to seconds, got {errors!r}")
        if key is not None and not callable(key):
            raise TypeError(f"key must be a function of the arguments, got {key!r}")
        for what, each in (
            ("ttl", 0 if callable(ttl) else ttl),
            ("none_ttl", none_ttl or 0),
            *(("error_ttl", seconds) for seconds in errors.values()),
        ):
            _life_ms(each, what)
        if wrong := [kind for kind in errors if not _is_exception(kind)]:
            raise TypeError(f"error_ttl must name classes of exceptions, got {wrong[0]!r}")
        jitter = options.get("jitter", 0.1)
        if isinstance(jitter, bool) or not 0 <= jitter < 1:
            raise ValueError(f"jitter must be from 0 to below 1, got {jitter!r}")
        on_outage = options.get("on_outage", "call")
        if on_outage not in get_args(OnOutage):
            raise ValueError(f"on_outage must be 'call' or 'raise', got {on_outage!r}")
        lease_ms = to_ms(options.get("lease", 30.0), "lease")
        if lease_ms < MIN_LEASE_MS:
            raise ValueError(f"lease must be at least 1 second, got {options['lease']}")
        timeout, compress = options.get("timeout", 30.0), options.get("compress", "zlib")
        checked_compression(compress)
        return cls(
            ttl=ttl,
            stale_ms=_life_ms(options.get("stale", 0), "stale"),
            refresh_ms=None if refresh is None else _life_ms(refresh, "refresh"),
            jitter=float(jitter),
            none_ttl=none_ttl,
            error_ttl=dict(errors),
            tags=options.get("tags", ()),
            key=key,
            ignore=options.get("ignore", ()),
            version=checked_int(options.get("version", 1), "version", 0, 10**9),
            name=options.get("name"),
            codec=options.get("codec", JSON),
            compress=compress,
            compress_over=checked_int(options.get("compress_over", 4096), "compress_over", 0),
            lease_ms=lease_ms,
            timeout_s=None if timeout is None else to_seconds(timeout, "timeout"),
            on_outage=on_outage,
            outage_concurrency=checked_int(
                options.get("outage_concurrency", 32), "outage_concurrency", 1, 10**6
            ),
            near=checked_near(options.get("near")),
        )

    @property
    def longest_life_ms(self) -> int:
        """Return how long an epoch must live at least when a value begins to be computed.

        If *ttl* is a function, its result is not known yet.
        """
        lives = [0 if callable(self.ttl) else _life_ms(self.ttl, "ttl")]
        lives += [_life_ms(each, "ttl") for each in (self.none_ttl or 0, *self.error_ttl.values())]
        return max(lives) + self.stale_ms + MAX_LEASES * self.lease_ms + EPOCH_MARGIN_MS

    def lifetimes(self, value: Any, error: Exception | None = None) -> Lifetimes | None:
        """Return the lifetimes of a result, or of an *error*; None: it is not stored.

        Raises:
            TypeError, ValueError: the function for *ttl* returned no duration.
        """
        stale_ms = self.stale_ms
        if error is not None:
            seconds: Duration = self.error_ttl.get(type(error), 0)
            stale_ms = 0
        elif value is None and self.none_ttl is not None:
            seconds = self.none_ttl
        else:
            seconds = self.ttl(value) if callable(self.ttl) else self.ttl
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        if isinstance(seconds, int | float) and seconds <= 0:
            return None
        factor = 1 - random.uniform(0, self.jitter)
        fresh_ms = max(TICK_MS, round(_life_ms(seconds, "ttl") * factor))
        refresh_ms = fresh_ms if self.refresh_ms is None else round(self.refresh_ms * factor)
        return Lifetimes(fresh_ms, min(refresh_ms, fresh_ms), stale_ms)


def _life_ms(duration: Duration, what: str) -> int:
    milliseconds = round(to_seconds(duration, what) * 1000)
    if milliseconds > MAX_LIFE_MS:
        raise ValueError(f"{what} must be a year at most, got {duration}")
    return milliseconds


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)
