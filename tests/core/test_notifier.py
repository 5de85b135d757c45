"""Notifications reach the one that waits, and a lost connection costs at most a moment."""

import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from redis.credentials import CredentialProvider

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast.core._sync.caller import Caller
from holdfast.core.concurrency._sync.primitives import Event
from holdfast.core.names import Namespace, Unit
from holdfast.core.notifier import Notifier
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

NOTIFY = Script.of(
    "test/notify", "#!lua\nreturn redis.call('SPUBLISH', ARGV[1], redis.call('EXISTS', KEYS[1]))"
)


@pytest.fixture
def unit(site: Site) -> Unit:
    return Namespace.of(site.namespace).unit("queue", "mail")


@pytest.fixture
def caller(site: Site) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(site.url))
    yield caller
    caller.close()


def notify(caller: Caller, unit: Unit, channel: str) -> int:
    receivers: int = caller.call(NOTIFY, unit, [unit.key("k")], [channel])
    return receivers


def test_a_notification_sets_the_flag(site: Site, caller: Caller, unit: Unit) -> None:
    notifier, flag = Notifier(Settings.from_url(site.url)), Event()
    with notifier.listen(unit, flag) as channel:
        assert flag.wait(20), "notified once it is subscribed"
        for _ in range(3):
            flag.clear()
            assert notify(caller, unit, channel) == 1
            assert flag.wait(20)
    eventually(lambda: notify(caller, unit, channel) == 0, reason="no listener is left")
    notifier.close()


def test_every_listener_is_notified_by_itself(site: Site, caller: Caller) -> None:
    """Units on all nodes of a cluster, and two listeners to one unit."""
    notifier = Notifier(Settings.from_url(site.url))
    units = [Namespace.of(site.namespace).unit("queue", f"q{n // 2}") for n in range(20)]
    flags = [Event() for _ in units]
    listening = [notifier.listen(unit, flag) for unit, flag in zip(units, flags, strict=True)]
    channels = [one.__enter__() for one in listening]
    assert all(flag.wait(20) for flag in flags)
    for flag in flags:
        flag.clear()
    notify(caller, units[7], channels[7])
    assert flags[7].wait(20)
    assert [n for n, flag in enumerate(flags) if flag.is_set()] == [7]
    for one in listening:
        one.__exit__(None, None, None)
    notifier.close()


def test_a_broken_connection_is_opened_again_and_its_listeners_look_again(
    standalone: Server, proxy: Proxy
) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("queue", "mail")
    notifier, flag = Notifier(Settings.from_url(proxy.url)), Event()
    caller = Caller(Settings.from_url(standalone.url))
    with notifier.listen(unit, flag) as channel:
        assert flag.wait(20)
        flag.clear()
        with proxy.refuse():
            eventually(
                lambda: notify(caller, unit, channel) == 0, reason="the server knows as well"
            )
        assert flag.wait(30)
        flag.clear()
        assert notify(caller, unit, channel) == 1
        assert flag.wait(20)
    caller.close()
    notifier.close()


class Unreliable(CredentialProvider):
    """A source of passwords that fails now and then."""

    def __init__(self) -> None:
        self.failures = 3

    def get_credentials(self) -> tuple[str, str]:
        if self.failures:
            self.failures -= 1
            raise LookupError("no password is available")
        return "default", "any"


@pytest.mark.parametrize("site", ["standalone", "cluster"], indirect=True)
def test_listeners_outlast_what_fails_on_the_way(site: Site, caller: Caller, unit: Unit) -> None:
    settings = Settings.from_url(site.url)
    options = {**settings.options, "credential_provider": Unreliable()}
    notifier, flag = Notifier(replace(settings, options=options)), Event()
    with notifier.follow([unit], flag):
        eventually(lambda: broadcast(caller, unit) == 1)
        flag.clear()
        assert broadcast(caller, unit) == 1
        assert flag.wait(20)
    notifier.close()


def test_no_thread_stays_when_the_last_notifier_is_closed(standalone: Server) -> None:
    """Nothing goes on in the background of a program that has closed its clients."""
    before = threading.enumerate()  # threads of earlier tests may still be ending
    notifiers = [Notifier(Settings.from_url(standalone.url)) for _ in range(2)]
    for notifier in notifiers:
        flag = Event()
        with notifier.listen(Namespace.of("x").unit("queue", "y"), flag):
            assert flag.wait(20)
    assert len(running_since(before)) == 1
    for notifier in notifiers:
        notifier.close()
        notifier.close()
    assert running_since(before) == []


def running_since(before: list[threading.Thread]) -> list[threading.Thread]:
    """Return the threads of Holdfast that started since then."""
    return [
        thread
        for thread in threading.enumerate()
        if thread.name == "holdfast" and thread not in before
    ]


def broadcast(caller: Caller, unit: Unit) -> int:
    return notify(caller, unit, unit.channel)


def test_a_broadcast_reaches_all_followers_over_one_subscription(
    site: Site, caller: Caller, unit: Unit
) -> None:
    notifier = Notifier(Settings.from_url(site.url))
    first, second = Event(), Event()
    with notifier.follow([unit], first):
        assert first.wait(20), "notified once it is subscribed"
        with notifier.follow([unit], second):
            first.clear()
            assert broadcast(caller, unit) == 1
            assert first.wait(20)
            assert second.wait(20)
        first.clear()
        second.clear()
        assert broadcast(caller, unit) == 1
        assert first.wait(20)
        assert not second.is_set()
    notifier.close()
    eventually(lambda: broadcast(caller, unit) == 0)


def test_a_subscription_outlasts_its_last_follower_for_a_while(
    site: Site, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.core.notifier.IDLE_BROADCASTS", 3)
    notifier = Notifier(Settings.from_url(site.url))
    units = [Namespace.of(site.namespace).unit("queue", f"q{n}") for n in range(8)]
    for unit in units:
        flag = Event()
        with notifier.follow([unit], flag):
            assert flag.wait(20)
    eventually(lambda: [broadcast(caller, unit) for unit in units] == [0] * 5 + [1] * 3)
    flag = Event()
    with notifier.follow(units, flag):
        eventually(lambda: [broadcast(caller, unit) for unit in units] == [1] * 8)
        for unit in units:
            flag.wait(20)
            flag.clear()
            broadcast(caller, unit)
            assert flag.wait(20)
    notifier.close()


def test_a_listener_that_leaves_at_once_is_notified_when_it_comes_back(
    site: Site, caller: Caller, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of one subscription to a channel does not end the next one."""
    monkeypatch.setattr("holdfast.core.notifier.IDLE_BROADCASTS", 0)
    notifier = Notifier(Settings.from_url(site.url))
    flag = Event()
    for _ in range(50):
        with notifier.follow([unit], flag):
            pass
    for _ in range(5):
        with notifier.follow([unit], flag):
            eventually(lambda: broadcast(caller, unit) == 1)
            flag.clear()
            broadcast(caller, unit)
            assert flag.wait(20)
    notifier.close()


def test_followers_look_while_there_is_no_line(standalone: Server, proxy: Proxy) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("queue", "mail")
    notifier, flag = Notifier(Settings.from_url(proxy.url)), Event()
    caller = Caller(Settings.from_url(standalone.url))
    with notifier.follow([unit], flag):
        assert flag.wait(20)
        with proxy.refuse():
            for _ in range(3):
                flag.clear()
                assert flag.wait(30)
        eventually(lambda: broadcast(caller, unit) == 1)
        flag.clear()
        assert broadcast(caller, unit) == 1
        assert flag.wait(20)
    caller.close()
    notifier.close()
