"""Where the server is: read from a URL or from the user's client, and opened without retries."""

import ssl
from collections.abc import Callable
from typing import Any

import pytest
import redis
import redis.asyncio
from redis import connection as blocking
from redis.asyncio import connection as asynchronous
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import ExponentialBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from faults.clusters import Cluster
from faults.servers import Server
from holdfast.core.transport.settings import DEFAULT_TIMEOUT_S, Settings

FLAVOURS = pytest.mark.parametrize("flavour", [blocking, asynchronous], ids=["sync", "async"])
HALVES = pytest.mark.parametrize("half", [redis.Redis, redis.asyncio.Redis], ids=["sync", "async"])


class BlockingTunnel(blocking.Connection):
    """A blocking connection class that the user wrote."""


class AsyncTunnel(asynchronous.Connection):
    """An asyncio connection class that the user wrote."""


# From a URL


@pytest.mark.parametrize(
    ("url", "topology", "addresses", "security"),
    [
        ("redis://", "standalone", [("localhost", 6379)], "plain"),
        ("redis://shop", "standalone", [("shop", 6379)], "plain"),
        ("redis://shop:7000/3", "standalone", [("shop", 7000)], "plain"),
        ("redis://[::1]:7000", "standalone", [("::1", 7000)], "plain"),
        ("rediss://shop", "standalone", [("shop", 6379)], "tls"),
        ("unix:///run/valkey.sock", "standalone", [("/run/valkey.sock", 0)], "unix"),
        ("redis+sentinel://a/main", "sentinel", [("a", 26379)], "plain"),
        (
            "redis+sentinel://a:1,b:2,c/main",
            "sentinel",
            [("a", 1), ("b", 2), ("c", 26379)],
            "plain",
        ),
        ("redis+sentinel://[::1]:1,b/main", "sentinel", [("::1", 1), ("b", 26379)], "plain"),
        ("rediss+sentinel://a/main", "sentinel", [("a", 26379)], "tls"),
        ("redis+cluster://a", "cluster", [("a", 6379)], "plain"),
        ("redis+cluster://a:1,b:2,c", "cluster", [("a", 1), ("b", 2), ("c", 6379)], "plain"),
        ("rediss+cluster://a:1,[::1]:2", "cluster", [("a", 1), ("::1", 2)], "tls"),
    ],
)
def test_a_url_says_where_and_how(
    url: str, topology: str, addresses: list[tuple[str, int]], security: str
) -> None:
    found = Settings.from_url(url)
    assert (found.topology, list(found.addresses), found.security) == (
        topology,
        addresses,
        security,
    )
    assert found.service == ("main" if topology == "sentinel" else "")
    assert found.timeout_s == DEFAULT_TIMEOUT_S


@pytest.mark.parametrize(
    "url",
    [
        "redis://bob:p%40ss%2Cword@a:1/0",
        "rediss://bob:p%40ss%2Cword@a:1/0",
        "unix://bob:p%40ss%2Cword@/run/valkey.sock",
        "redis+cluster://bob:p%40ss%2Cword@a:1,b:2",
        "redis+sentinel://bob:p%40ss%2Cword@a:1,b:2/main",
    ],
)
def test_a_url_may_hold_credentials(url: str) -> None:
    """Quoted where they hold signs of a URL; they are for the server, and shown nowhere."""
    found = Settings.from_url(url)
    assert (found.options["username"], found.options["password"]) == ("bob", "p@ss,word")
    assert found.sentinel_options == {}
    assert "p@ss" not in repr(found)


@pytest.mark.parametrize(
    ("url", "options", "timeout_s"),
    [
        ("redis://a/3?client_name=shop", {"db": 3, "client_name": "shop"}, DEFAULT_TIMEOUT_S),
        ("redis://a?db=3&socket_timeout=0.5", {"db": 3}, 0.5),
        ("unix:///run/x.sock?db=3", {"db": 3}, DEFAULT_TIMEOUT_S),
        ("redis+sentinel://a,b/main?db=3&socket_timeout=2", {"db": 3}, 2.0),
        ("redis+cluster://a,b?client_name=shop", {"client_name": "shop"}, DEFAULT_TIMEOUT_S),
        ("rediss://a?ssl_ca_certs=ca.pem", {"ssl_ca_certs": "ca.pem"}, DEFAULT_TIMEOUT_S),
        ("redis://a?max_connections=9&retry_on_timeout=yes", {}, DEFAULT_TIMEOUT_S),
    ],
)
def test_a_url_may_hold_options(url: str, options: dict[str, Any], timeout_s: float) -> None:
    found = Settings.from_url(url)
    assert (found.options, found.timeout_s) == (options, timeout_s)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "one of"),
        ("localhost:6379", "one of"),
        ("http://localhost", "'http' is not one of redis, rediss, unix, redis.sentinel"),
        ("redis+tunnel://a", r"'redis\+tunnel' is not one of"),
        ("valkey://a", "'valkey' is not one of"),
        ("redis://a:port", "Port could not be cast"),
        ("redis://a:99999", "Port out of range"),
        ("redis+cluster://a:1,b:port", "Port could not be cast"),
        ("redis+sentinel://a:26379", "a sentinel URL names its service"),
        ("redis+sentinel://a:26379/", "a sentinel URL names its service"),
        ("redis://a:0", "port of a URL is 1 to 65535"),
        ("redis+cluster://a:1,b:0", "port of a URL is 1 to 65535"),
        ("redis://a?socket_timeout=soon", "Invalid value for 'socket_timeout'"),
        ("redis://a?socket_timeout=-1", "more than 0 s and at most a day, not -1 s"),
        ("redis://a?socket_timeout=nan", "more than 0 s and at most a day, not nan s"),
        ("redis://a?socket_timeout=inf", "more than 0 s and at most a day, not inf s"),
        ("redis+cluster://a,b?socket_timeout=86401", "more than 0 s and at most a day"),
        ("redis://a?protocol=4", "protocol of a URL is 2 or 3"),
        ("rediss://a?ssl_cert_reqs=CERT_NONE", "wrong options in the URL: .*CERT_NONE"),
        ("redis://a/shop", "number of the database, as in redis://host/3$"),
        ("redis://a/1/2", "number of the database, as in redis://host/3$"),
        ("redis://a/-1", "number of the database"),
        ("redis+cluster://a/shop", "number of the database"),
        ("unix://", "a unix URL names its socket"),
        ("unix://data/valkey.sock", "a unix URL names its socket"),
    ],
)
def test_what_is_no_url_is_a_value_error(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Settings.from_url(url)


@pytest.mark.parametrize(
    "option", ["connection_class", "credential_provider", "path", "socket_type"]
)
def test_an_option_that_is_no_text_is_not_for_urls(option: str) -> None:
    """It would fail at each call."""
    with pytest.raises(ValueError, match=f"unknown options in the URL: {option}$"):
        Settings.from_url(f"redis://a?{option}=1")


@HALVES
def test_a_client_has_a_timeout_that_sockets_accept(half: Any) -> None:
    with pytest.raises(ValueError, match="more than 0 s and at most a day, not inf s"):
        Settings.of(half(socket_timeout=float("inf")))
    assert Settings.of(half(socket_timeout=86_400)).timeout_s == 86_400


@pytest.mark.parametrize("url", ["unix+cluster://a", "unix+sentinel://a/main"])
def test_a_socket_is_one_server(url: str) -> None:
    """The message that lists the schemes does not list these."""
    with pytest.raises(ValueError, match="is not one of"):
        Settings.from_url(url)


@pytest.mark.parametrize("url", ["redis://a?socket_timout=1", "redis+cluster://a?user=bob"])
def test_a_misspelt_option_is_reported(url: str) -> None:
    """Silence would leave the user without the timeout, or without the login."""
    with pytest.raises(ValueError, match=r"socket_timout|user"):
        Settings.from_url(url)


@pytest.mark.parametrize(
    "url", ["redis+cluster://", "redis+sentinel:///main", "redis+cluster://a,,b", "redis"]
)
def test_a_missing_host_is_named_as_such(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(?!Redis URL must specify)"):
        Settings.from_url(url)


def test_sentinels_behind_tls_are_checked_like_the_server() -> None:
    found = Settings.from_url("rediss+sentinel://a/main?ssl_ca_certs=ca.pem&password=secret")
    connection = found.connection(asynchronous, ("a", 26379), sentinel=True)
    assert connection.ssl_context.ca_certs == "ca.pem"
    assert connection.credential_provider is None
    assert not connection.password


# From a client


@HALVES
def test_a_client_says_where_and_how(half: Any) -> None:
    """Credentials, database and timeout are the client's."""
    client = half(
        host="shop", port=7000, db=3, username="bob", password="secret", socket_timeout=2.5
    )
    found = Settings.of(client)
    assert (found.topology, found.addresses, found.security) == (
        "standalone",
        (("shop", 7000),),
        "plain",
    )
    assert found.timeout_s == 2.5
    assert (found.options["username"], found.options["password"]) == ("bob", "secret")
    assert found.options["db"] == 3
    assert "secret" not in repr(found)


@HALVES
def test_a_client_without_a_timeout_gets_ours(half: Any) -> None:
    assert Settings.of(half(socket_timeout=None)).timeout_s == DEFAULT_TIMEOUT_S


@HALVES
def test_a_client_from_a_url_is_that_url(half: Any) -> None:
    url = "redis://bob:secret@shop:7000/3?socket_timeout=2"
    found, other = Settings.of(half.from_url(url)), Settings.from_url(url)
    assert (found.addresses, found.timeout_s) == (other.addresses, other.timeout_s)
    assert {name: found.options[name] for name in other.options} == other.options


@HALVES
def test_a_client_of_a_unix_socket(half: Any) -> None:
    found = Settings.of(half(unix_socket_path="/run/valkey.sock"))
    assert (found.addresses, found.security) == ((("/run/valkey.sock", 0),), "unix")


@HALVES
def test_a_client_with_tls(half: Any) -> None:
    found = Settings.of(half(ssl=True, ssl_ca_certs="ca.pem", ssl_check_hostname=False))
    assert found.security == "tls"
    assert found.options["ssl_ca_certs"] == "ca.pem"
    assert found.options["ssl_check_hostname"] is False


@pytest.mark.parametrize("watchers", [Sentinel, AsyncSentinel], ids=["sync", "async"])
def test_the_primary_of_sentinels(watchers: Any) -> None:
    """The sentinels are the addresses; their credentials are not the server's."""
    sentinels = watchers(
        [("a", 26379), ("b", 26380)], sentinel_kwargs={"password": "theirs"}, password="its", db=3
    )
    found = Settings.of(sentinels.master_for("main"))
    assert (found.topology, found.service) == ("sentinel", "main")
    assert found.addresses == (("a", 26379), ("b", 26380))
    assert (found.options["password"], found.options["db"]) == ("its", 3)
    assert found.sentinel_options["password"] == "theirs"
    assert "theirs" not in repr(found)


@FLAVOURS
def test_plain_sentinels_of_a_server_with_tls(flavour: Any) -> None:
    found = Settings.of(Sentinel([("a", 26379)], ssl=True).master_for("main"))
    assert found.security == "tls"
    assert not isinstance(
        found.connection(flavour, ("a", 26379), sentinel=True), flavour.SSLConnection
    )


async def test_an_asyncio_client_of_a_cluster() -> None:
    """It need not have connected: the nodes that it was given are those that it starts from."""
    client = redis.asyncio.RedisCluster(
        startup_nodes=[ClusterNode("a", 1), ClusterNode("b", 2)],
        username="bob",
        password="secret",
        ssl=True,
        ssl_ca_certs="ca.pem",
        socket_timeout=2.5,
        address_remap=outside,
    )
    found = Settings.of(client)
    assert (found.topology, found.addresses, found.security) == (
        "cluster",
        (("a", 1), ("b", 2)),
        "tls",
    )
    assert (found.options["username"], found.options["password"]) == ("bob", "secret")
    assert found.options["ssl_ca_certs"] == "ca.pem"
    assert (found.timeout_s, found.remap) == (2.5, outside)


def outside(address: tuple[str, int]) -> tuple[str, int]:
    return address


def test_a_blocking_client_of_a_cluster(cluster: Cluster) -> None:
    """It has connected, so it knows every node; nothing of the client itself is taken along."""
    found = Settings.of(
        cluster.client(client_name="shop", socket_timeout=2.5, address_remap=outside)
    )
    assert (found.topology, found.security, found.timeout_s) == ("cluster", "plain", 2.5)
    assert {port for _, port in found.addresses} == {node.port for node in cluster.nodes}
    assert found.options["client_name"] == "shop"
    assert found.remap is outside
    assert not [name for name, value in found.options.items() if callable(value)]


def test_settings_are_read_without_connecting() -> None:
    for half in (redis.Redis, redis.asyncio.Redis):
        assert Settings.of(half(host="nowhere.invalid")).addresses == (("nowhere.invalid", 6379),)


@pytest.mark.parametrize(
    "client",
    [None, "redis://localhost", redis.ConnectionPool(), object()],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_client_is_a_type_error(client: Any) -> None:
    expected = rf"expected a redis-py client .* got {type(client).__name__}"
    with pytest.raises(TypeError, match=expected):
        Settings.of(client)


# Connections of our own

CLIENTS: list[tuple[str, Callable[[], Any], str]] = [
    ("plain", redis.Redis, "Connection"),
    ("plain-async", redis.asyncio.Redis, "Connection"),
    ("tls", lambda: redis.Redis(ssl=True), "SSLConnection"),
    ("tls-async", lambda: redis.asyncio.Redis(ssl=True), "SSLConnection"),
    ("unix", lambda: redis.Redis(unix_socket_path="/x"), "UnixDomainSocketConnection"),
    ("sentinel", lambda: Sentinel([("a", 1)]).master_for("main"), "Connection"),
    ("sentinel-async", lambda: AsyncSentinel([("a", 1)]).master_for("main"), "Connection"),
    (
        "retrying",
        lambda: redis.Redis(retry=Retry(ExponentialBackoff(), 10), retry_on_error=[OSError]),
        "Connection",
    ),
    ("decoding", lambda: redis.Redis(decode_responses=True, protocol=3), "Connection"),
    ("checking", lambda: redis.Redis(health_check_interval=5), "Connection"),
    ("in-a-pool", lambda: redis.Redis.from_pool(redis.BlockingConnectionPool()), "Connection"),
]


@FLAVOURS
@pytest.mark.parametrize(
    ("client", "kind"), [each[1:] for each in CLIENTS], ids=[each[0] for each in CLIENTS]
)
def test_a_connection_is_of_the_right_half_and_retries_nothing(
    client: Callable[[], Any], kind: str, flavour: Any
) -> None:
    settings = Settings.of(client())
    connection = settings.connection(flavour, ("shop", 7000))
    assert type(connection) is getattr(flavour, kind)
    assert connection.retry.get_retries() == 0
    assert connection.retry_on_error == []
    assert not connection.retry_on_timeout
    assert connection.health_check_interval == 0
    assert connection.encoder.decode_responses is False
    assert int(connection.protocol) == 2
    blocking = isinstance(connection, redis.connection.AbstractConnection)
    # In asyncio a limit around the whole exchange bounds the call instead.
    assert connection.socket_timeout == (settings.timeout_s if blocking else None)
    assert connection.socket_connect_timeout == settings.timeout_s


@FLAVOURS
def test_a_connection_goes_to_the_given_address(flavour: Any) -> None:
    connection = Settings.of(redis.Redis("a", 1)).connection(flavour, ("b", 2))
    assert (connection.host, connection.port) == ("b", 2)
    unix = Settings.of(redis.Redis(unix_socket_path="/x")).connection(flavour, ("/y", 0))
    assert unix.path == "/y"


@FLAVOURS
def test_a_connection_logs_in_as_the_client_does(flavour: Any) -> None:
    client = redis.Redis(username="bob", password="secret", db=3, client_name="shop")
    connection = Settings.of(client).connection(flavour, ("a", 1))
    assert (connection.username, connection.password) == ("bob", "secret")
    assert (connection.db, connection.client_name) == (3, "shop")


@FLAVOURS
def test_a_connection_checks_certificates_as_the_client_does(flavour: Any) -> None:
    client = redis.Redis(
        ssl=True, ssl_cert_reqs="none", ssl_check_hostname=False, ssl_ca_certs="ca"
    )
    connection = Settings.of(client).connection(flavour, ("a", 1))
    checks = connection if flavour is blocking else connection.ssl_context
    assert (checks.ca_certs, checks.check_hostname) == ("ca", False)
    assert checks.cert_reqs == ssl.CERT_NONE


@pytest.mark.parametrize(
    ("pool", "tunnel", "own", "other"),
    [
        (redis.ConnectionPool, BlockingTunnel, blocking, asynchronous),
        (redis.asyncio.ConnectionPool, AsyncTunnel, asynchronous, blocking),
    ],
    ids=["sync", "async"],
)
def test_a_connection_class_of_the_user_is_kept_in_its_own_half(
    pool: Any, tunnel: type, own: Any, other: Any
) -> None:
    half = redis.Redis if own is blocking else redis.asyncio.Redis
    settings = Settings.of(half(connection_pool=pool(connection_class=tunnel, host="shop")))
    assert type(settings.connection(own, ("a", 1))) is tunnel
    assert type(settings.connection(other, ("a", 1))) is other.Connection


async def test_a_connection_of_either_half_reaches_the_server(standalone: Server) -> None:
    for client in (standalone.client(), redis.Redis(unix_socket_path=standalone.socket_path)):
        settings = Settings.of(client)
        [address] = settings.addresses
        plain = settings.connection(blocking, address)
        plain.send_command("PING")
        assert plain.read_response() == b"PONG"
        plain.disconnect()
        awaited = settings.connection(asynchronous, address)
        await awaited.connect()
        await awaited.send_command("PING")
        assert await awaited.read_response() == b"PONG"
        await awaited.disconnect()
        client.close()


def test_an_ipv6_address_is_shown_as_in_a_url() -> None:
    settings = Settings.from_url("redis+sentinel://[::1]:26379,host:26380/mymaster")
    assert "[::1]:26379, host:26380" in settings.nowhere
    assert settings.explained(("::1", 6379), "gone") == "[::1]:6379: gone"
    assert settings.where(("/run/a:b.sock", 0)) == "/run/a:b.sock"


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_url_may_name_the_protocol(protocol: int) -> None:
    """Also with redis-py 6, which does not convert it."""
    assert Settings.from_url(f"redis://a?protocol={protocol}").protocol == protocol
