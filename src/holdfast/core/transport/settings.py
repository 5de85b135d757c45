"""Copy the connection settings of the user's client. No I/O.

Holdfast opens its own connections with these settings. It does not use those of the client, because
redis-py repeats a failed command silently up to ten times, even if it must not be repeated.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from ...version import __version__
from ..durability import Durability
from ..telemetry import Telemetry
from .request import Packer

DEFAULT_TIMEOUT_S: Final = 5.0
"""Timeout of a call in seconds, if the user's client has no `socket_timeout`."""

_LONGEST_TIMEOUT_S: Final = 86_400.0
"""Longest timeout of a call in seconds. The functions of the system accept no endless one."""

Client = redis.Redis | redis.RedisCluster | redis.asyncio.Redis | redis.asyncio.RedisCluster
"""A client of redis-py, blocking or asyncio."""

Address = tuple[str, int]
"""Host and port. For a unix socket: its path and port 0."""

# Options of the user's client that are not copied: Holdfast sets them itself, or needs none.
_NOT_TAKEN: Final = frozenset(
    [
        "cache",
        "cache_config",
        "connection_class",
        "connection_pool",
        "command_packer",
        "decode_responses",
        "event_dispatcher",
        "health_check_interval",
        "host",
        "himport_registry",
        "legacy_responses",
        "max_connections",
        "orig_host_address",
        "parser_class",
        "path",
        "port",
        "protocol",
        "redis_connect_func",
        "response_callbacks",
        "retry",
        "retry_on_error",
        "retry_on_timeout",
        "socket_connect_timeout",
        "socket_timeout",
        "timeout",
        "oss_cluster_maint_notifications_handler",
        "lib_name",
        "lib_version",
        "driver_info",
        "ssl",
        "encoder_class",
        "encoding",
        "encoding_errors",
    ]
)


_OF_POOLS: Final = frozenset(["max_connections", "timeout"])
"""Options of a redis-py URL that apply only to its connection pools."""

_NOT_IN_URLS: Final = frozenset(
    ["connection_class", "credential_provider", "path", "socket_keepalive_options", "socket_type"]
)
"""Options of redis-py that cannot be written as text, and the path of a socket."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a client: its servers, and how to connect to them.

    Attributes:
        topology: `standalone`, `sentinel` or `cluster`.
        addresses: address of the server, of its sentinels, or of some nodes of the cluster.
        options: keyword arguments of redis-py's connection classes (credentials, TLS, database).
        timeout_s: timeout of a call in seconds.
        security: `plain`, `tls` or `unix`; it selects redis-py's connection class.
        foreign: connection class of the user's client; None: it uses a class of redis-py.
        service: name of the primary that the sentinels watch.
        sentinel_options: as `options`, for connections to sentinels.
        sentinel_security: as `security`, for connections to sentinels.
        protocol: the version of RESP for which the user's client asks, 2 or 3. Invalidation
            connections use it; all others use RESP 2.
        remap: function of the user that maps a node's announced address to a reachable one.
        durability: durability for which writes wait; None: they do not wait.
        telemetry: records the operations of the client; None: they are not recorded.
        opening_s: seconds that opening a connection may take, if more than `timeout_s`. A call may
            give up before; a later call then uses the opened connection.
    """

    topology: str
    addresses: tuple[Address, ...]
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S
    security: str = "plain"
    foreign: type[Any] | None = None
    service: str = ""
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sentinel_security: str = "plain"
    protocol: int = 3
    remap: Callable[[Address], Address] | None = None
    durability: Durability | None = None
    telemetry: Telemetry | None = field(default=None, repr=False)
    opening_s: float = 0.0

    @classmethod
    def of(cls, client: Client) -> Settings:
        """Return the settings of a redis-py client, blocking or asyncio.

        Raises:
            TypeError: *client* is not a client of redis-py.
        """
        if isinstance(client, redis.RedisCluster | redis.asyncio.RedisCluster):
            return _of_cluster(client)
        if not isinstance(client, redis.Redis | redis.asyncio.Redis):
            raise TypeError(
                "expected a redis-py client (Redis, RedisCluster, a Sentinel's primary), "
                f"got {type(client).__name__}"
            )
        pool = client.connection_pool
        if hasattr(pool, "sentinel_manager"):
            return _of_sentinel(pool)
        given = pool.connection_kwargs
        address = (given["path"], 0) if "path" in given else _address(given)
        return cls("standalone", (address,), **_common(pool.connection_class, given))

    @classmethod
    def from_url(cls, url: str) -> Settings:
        """Return the settings in a URL.

        The schemes are `redis`, `unix`, `redis+sentinel` and `redis+cluster`, and with TLS
        `rediss`, `rediss+sentinel` and `rediss+cluster`. Sentinels and cluster nodes are separated
        by commas. The path of a sentinel URL is the name of the service:
        `redis+sentinel://host:26379,other:26379/mymaster?db=0`.

        Raises:
            TypeError: *url* is not a str.
            ValueError: *url* has another form.
        """
        if not isinstance(url, str):
            raise TypeError(f"a URL must be a str, got {type(url).__name__}")
        scheme, colon, rest = url.partition("://")
        base, _, topology = scheme.partition("+")
        bases = ("redis", "rediss") if topology else ("redis", "rediss", "unix")
        if not colon or topology not in ("", "sentinel", "cluster") or base not in bases:
            raise ValueError(
                f"the URL scheme {scheme!r} is not one of redis, rediss, unix, "
                "redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster"
            )
        if not topology:
            return _of_url(url)
        return _of_many(base, topology, rest)

    @property
    def plain(self) -> bool:
        """Return whether calls need neither durability nor telemetry."""
        return self.durability is None and self.telemetry is None

    @property
    def patience_s(self) -> float:
        """Return the timeout of opening a connection, in seconds."""
        return max(self.timeout_s, self.opening_s)

    def where(self, address: Address) -> str:
        """Return *address* as in a URL: `host:port`, `[::1]:port`, or the path of a unix socket."""
        host, port = address
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{port}" if port else host

    @property
    def nowhere(self) -> str:
        """Return the error text for a call about a unit if its server is unknown."""
        if self.topology == "sentinel":
            return f"no Sentinel of {self._asked} says where {self.service!r} is"
        return f"no node of {self._asked} says who owns its slot"

    def explained(self, address: Address, reason: str) -> str:
        """Return an error text with the address and the reason. An empty reason means a timeout."""
        return f"{self.where(address)}: {reason or f'no answer within {self.timeout_s:g} s'}"

    @property
    def _asked(self) -> str:
        return ", ".join(map(self.where, self.addresses))

    def connection(self, flavour: Any, address: Address, *, sentinel: bool = False) -> Any:
        """Return a new connection object of redis-py, not yet connected.

        Args:
            flavour: the module `redis.connection` or `redis.asyncio.connection`.
            address: address of the server.
            sentinel: whether the server is a sentinel.
        """
        security = self.sentinel_security if sentinel else self.security
        kind: Any = getattr(flavour, _CLASSES[security])
        if self.foreign and not sentinel and issubclass(self.foreign, flavour.AbstractConnection):
            kind = self.foreign
        options = dict(self.sentinel_options if sentinel else self.options)
        blocking = flavour is redis.connection
        host, port = address
        options |= {"path": host} if security == "unix" else {"host": host, "port": port}
        options |= {
            # Version 2 of the protocol saves a round trip; replies of scripts are the same in both.
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0) if blocking else AsyncRetry(NoBackoff(), 0),
            "socket_connect_timeout": self.patience_s,
            # In asyncio, one timeout for the whole call replaces this one, because it costs less.
            "socket_timeout": self.timeout_s if blocking else None,
            **_driver(),
            "command_packer": Packer(),
        }
        accepted = _parameters(kind)
        return kind(**{name: value for name, value in options.items() if name in accepted})


_CLASSES: Final = {
    "unix": "UnixDomainSocketConnection",
    "tls": "SSLConnection",
    "plain": "Connection",
}


@cache
def _driver() -> dict[str, Any]:
    """Return the options with the name and version that connections report to the server.

    Pass the version of redis-py. Otherwise redis-py imports modules to find it, and if a signal
    handler raises during that import, the modules stay broken.
    """
    try:
        from redis.driver_info import DriverInfo
    except ImportError:  # redis-py 6 and 7.0
        name = f"redis-py(holdfast_v{__version__})"
        return {"lib_name": name, "lib_version": redis.__version__}
    driver = DriverInfo(lib_version=redis.__version__)
    return {"driver_info": driver.add_upstream_driver("holdfast", __version__)}


@cache
def _parameters(kind: Any) -> frozenset[str]:
    """Return the parameters of a connection class and its bases."""
    return frozenset(
        name
        for base in kind.__mro__
        if base is not object
        for name in inspect.signature(vars(base).get("__init__", object)).parameters
    )


def _common(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that do not depend on the topology."""
    return {
        "options": _options(given),
        "timeout_s": _timeout_s(given.get("socket_timeout")),
        "security": _security(kind),
        "foreign": None if kind.__module__.startswith("redis.") else kind,
        "protocol": 2 if str(given.get("protocol")) == "2" else 3,
    }


def _timeout_s(given: float | None) -> float:
    if given and not 0 < given <= _LONGEST_TIMEOUT_S:  # NaN is not within the limits either.
        raise ValueError(f"socket_timeout is more than 0 s and at most a day, not {given:g} s")
    return given or DEFAULT_TIMEOUT_S


def _security(kind: type[Any]) -> str:
    names = {base.__name__ for base in kind.__mro__}
    return next((security for security, name in _CLASSES.items() if name in names), "plain")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in given.items()
        if name not in _NOT_TAKEN and not name.startswith("maint") and value is not None
    }


def _address(given: Mapping[str, Any]) -> Address:
    return given.get("host") or "localhost", int(given.get("port") or 6379)


def _of_sentinel(pool: Any) -> Settings:
    sentinels = [client.connection_pool for client in pool.sentinel_manager.sentinels]
    return Settings(
        "sentinel",
        tuple(_address(sentinel.connection_kwargs) for sentinel in sentinels),
        service=pool.service_name,
        sentinel_options=_options(sentinels[0].connection_kwargs),
        sentinel_security=_security(sentinels[0].connection_class),
        **_common(pool.connection_class, pool.connection_kwargs),
    )


def _of_cluster(client: Any) -> Settings:
    nodes = client.nodes_manager
    given = client.get_connection_kwargs()
    tls = (
        given.get("ssl")
        or getattr(given.get("connection_class"), "__name__", "") == "SSLConnection"
    )
    common = _common(redis.SSLConnection if tls else redis.Connection, given)
    return Settings(
        "cluster",
        tuple((node.host, int(node.port)) for node in nodes.startup_nodes.values()),
        remap=nodes.address_remap,
        **common,
    )


def _of_url(url: str) -> Settings:
    _check_path(url)
    given = parse_url(url)  # type: ignore[no-untyped-call]
    kind = given.pop("connection_class", redis.Connection)
    unknown = parse_qs(urlsplit(url).query).keys() & _NOT_IN_URLS
    unknown = unknown or given.keys() - _parameters(kind) - _OF_POOLS
    if unknown:
        raise ValueError(f"unknown options in the URL: {', '.join(sorted(unknown))}")
    if str(given.get("protocol", 3)) not in {"2", "3"}:  # redis-py 6 leaves it as text
        raise ValueError("the protocol of a URL is 2 or 3")
    address = (given["path"], 0) if "path" in given else _address(given)
    found = Settings("standalone", (address,), **_common(kind, given))
    try:
        found.connection(redis.connection, address)  # It checks options without connecting.
    except redis.RedisError as error:
        raise ValueError(f"wrong options in the URL: {error}") from error
    return found


def _check_path(url: str) -> None:
    """Raise ValueError for a path that redis-py ignores: it would connect to something else."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        if parts.netloc.rpartition("@")[2] or not parts.path:
            raise ValueError("a unix URL names its socket: unix:///path/of/the.sock")
        return
    if parts.port == 0:  # A wrong port raises here: a `/` in a password ends the host too early.
        raise ValueError("the port of a URL is 1 to 65535")
    database = parts.path.strip("/")
    if database and not database.isdecimal():  # Do not quote it: it may be part of a password.
        raise ValueError("the path of a URL is the number of the database, as in redis://host/3")


def _of_many(base: str, topology: str, rest: str) -> Settings:
    """Return the settings of a URL with several hosts. Let redis-py parse one URL for each host."""
    # `urlsplit` of newer Pythons refuses several hosts if one is an IPv6 address.
    end = re.search(r"[/?#]|$", rest)
    assert end is not None
    parts = urlsplit(f"{base}://{rest[end.start() :]}")
    login, at, hosts = rest[: end.start()].rpartition("@")
    if not all(hosts.split(",")):
        raise ValueError(
            f"a {topology} URL names its hosts: {base}+{topology}://host:port,other:port"
        )
    path = parts.path if topology == "cluster" else ""
    single = [
        _of_url(urlunsplit((base, login + at + host, path, parts.query, "")))
        for host in hosts.split(",")
    ]
    found = replace(single[0], topology=topology, addresses=tuple(s.addresses[0] for s in single))
    if topology == "cluster":
        return found
    service = parts.path.strip("/")
    if not service:
        raise ValueError("a sentinel URL names its service: redis+sentinel://host:26379/mymaster")
    tls = {name: value for name, value in found.options.items() if name.startswith("ssl_")}
    return replace(
        found,
        service=service,
        addresses=_default_port(hosts.split(","), 26379),
        sentinel_options=tls,
        sentinel_security=found.security,
    )


def _default_port(hosts: list[str], port: int) -> tuple[Address, ...]:
    parsed = [urlsplit(f"//{host}") for host in hosts]
    return tuple((part.hostname or "localhost", part.port or port) for part in parsed)
