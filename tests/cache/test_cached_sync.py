# Generated from test_cached_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Cached functions in one client."""

import logging
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import msgspec
import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import MSGPACK, CachedFunction, CachedValue, Holdfast, ServerUnavailable
from holdfast.cache import keys
from holdfast.cache._sync.value_store import ValueStore
from holdfast.core.concurrency._sync.primitives import sleep


@dataclass
class Profile:
    """What a function returns."""

    user_id: int
    born: date


class Source:
    """Counts its calls, and returns or raises what it is asked for."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.result: Any = "old"

    def get(self, *args: Any) -> Any:
        self.calls.append(args)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def cached(hf: Holdfast, source: Source, **options: Any) -> CachedFunction[Any, Any]:
    options = {"ttl": 600.0, "jitter": 0.0, "name": "source"} | options

    @hf.cached(**options)
    def function(n: int, unit: str = "kg") -> Any:
        return source.get(n, unit)

    return function


def test_a_result_is_computed_once(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source)
    assert function(1) == "old"
    source.result = "new"
    assert function(1) == "old"
    assert function(n=1, unit="kg") == "old"
    assert function(1, "lb") == "new"
    assert source.calls == [(1, "kg"), (1, "lb")]


def test_a_result_has_the_type_of_the_annotation_from_the_first_call_on(
    hf: Holdfast,
) -> None:
    @hf.cached(ttl=60.0)
    def profile(user_id: int) -> Profile:
        return Profile(user_id, date(2000, 2, 29))

    @hf.cached(ttl=60.0, codec=MSGPACK, compress_over=0)
    def raw(n: int) -> tuple[bytes, ...]:
        return (b"\xff" * n,)

    for _ in range(2):
        assert profile(7) == Profile(7, date(2000, 2, 29))
        assert raw(5000) == (b"\xff" * 5000,)


def test_what_is_not_annotated_is_the_same_on_every_call(hf: Holdfast) -> None:
    @hf.cached(ttl=60.0)
    def pair(n):  # type: ignore[no-untyped-def]
        return (n, n)

    assert [pair(1), pair(1)] == [[1, 1], [1, 1]]


def test_large_results_are_compressed(hf: Holdfast, site: Site) -> None:
    @hf.cached(ttl=60.0)
    def large(n: int) -> str:
        return "x" * n

    @hf.cached(ttl=60.0, compress=None)
    def whole(n: int) -> str:
        return "x" * n

    for function, most in ((large, 1000), (whole, 200_000)):
        assert [function(100_000), function(100_000)] == ["x" * 100_000] * 2
        stored = site.client.get(function.key(100_000))
        assert len(stored) < most
    assert site.client.strlen(whole.key(100_000)) > 100_000


def test_peek_never_computes(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source)
    assert function.peek(1) is None
    function(1)
    found = function.peek(1)
    assert isinstance(found, CachedValue)
    assert (found.value, found.state) == ("old", "fresh")
    assert 0 <= found.age < 30
    assert len(source.calls) == 1


def test_put_stores_a_result(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, tags=["all"])
    function.put("given", 1)
    assert function(1) == "given"
    function.put("later", n=1)
    assert function(1) == "later"
    hf.invalidate_tags("all")
    assert function(1) == "old"


@pytest.mark.parametrize("value", [object(), float("nan"), "x" * 2**21])
def test_put_raises_if_the_value_cannot_be_stored(hf: Holdfast, value: Any) -> None:
    function = cached(hf, Source())
    function(1)
    with pytest.raises((TypeError, ValueError), match="the result of source"):
        function.put(value, 1)
    assert (function.peek(1)) is not None
    assert function.put("new", 1) is None, "no lease is left"
    assert function(1) == "new"


def test_put_of_a_value_that_ttl_does_not_store_drops_the_old_one(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, none_ttl=0)
    function(1)
    function.put(None, 1)
    assert function.peek(1) is None
    source.result = "new"
    assert function(1) == "new"


def test_put_raises_if_the_server_does_not_store_the_value(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = cached(hf, Source())
    commit = ValueStore.commit

    def broken(*args: Any) -> bool:
        raise ServerUnavailable("the commit", "the connection broke", harmless=True)

    monkeypatch.setattr(ValueStore, "commit", broken)
    with pytest.raises(ServerUnavailable):
        function.put("new", 1)
    monkeypatch.setattr(ValueStore, "commit", commit)
    assert function(1) == "old"


def test_a_result_that_the_server_does_not_store_is_not_waited_for(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source()
    function = cached(hf, source, lease=600.0, timeout=20.0)
    commit = ValueStore.commit

    def broken(*args: Any) -> bool:
        raise ServerUnavailable("the commit", "the connection broke", harmless=True)

    monkeypatch.setattr(ValueStore, "commit", broken)
    assert function(1) == "old"
    monkeypatch.setattr(ValueStore, "commit", commit)
    source.result = "new"
    assert function(1) == "new"


def test_invalidate_drops_one_result(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source)
    assert [function(n) for n in (1, 2)] == ["old", "old"]
    source.result = "new"
    assert function.invalidate(1)
    assert not function.invalidate(1)
    assert [function(n) for n in (1, 2)] == ["new", "old"]
    assert function.invalidate_many([1, (2, "kg"), 3]) == 2
    assert [function(n) for n in (1, 2)] == ["new", "new"]


def test_invalidate_tags_drops_all_results_with_a_tag(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, tags=lambda n, unit="kg": [f"n:{n}", f"unit:{unit}"])
    calls = [(1, "kg"), (2, "kg"), (1, "lb"), (2, "lb")]
    assert function.many(calls) == ["old"] * 4
    source.result = "new"
    hf.invalidate_tags("n:1", "never used")
    assert [function(*call) for call in calls] == ["new", "old", "new", "old"]
    hf.invalidate_tags("unit:kg")
    source.result = "newest"
    assert [function(*call) for call in calls] == ["newest", "newest", "new", "old"]


def test_invalidate_all_drops_all_results(hf: Holdfast) -> None:
    source = Source()
    function, other = cached(hf, source), cached(hf, source, name="other")
    function.many(range(100))
    other(1)
    source.result = "new"
    function.invalidate_all()
    assert function.many(range(100)) == ["new"] * 100
    assert other(1) == "old"
    hf.invalidate_cached("other", key='1:[1,"kg"]')
    assert other(1) == "new"
    source.result = "newest"
    hf.invalidate_cached("other")
    assert other(1) == "newest"


def test_many_reads_what_is_stored_and_computes_the_rest(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source)
    function.many([1, 2])
    source.result = "new"
    assert function.many([3, 2, (1,), (1, "lb")]) == ["new", "old", "old", "new"]
    assert function.warm([1, 3, 4, 4]) == 1
    assert function.many([]) == []
    source.result = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        function.many([1, 5, 6])
    assert len(source.calls) == 7


def test_many_large_results_come_in_several_replies(hf: Holdfast) -> None:
    @hf.cached(ttl=60.0, compress=None)
    def large(n: int) -> str:
        return f"{n}" * 900_000

    large.warm(range(8))
    assert large.many(range(8)) == [f"{n}" * 900_000 for n in range(8)]


def test_an_old_result_is_served_while_a_new_one_is_computed(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, ttl=0.05, stale=60.0)
    function(1)
    source.result = "new"
    sleep(0.1)
    assert function(1) == "old"

    def is_new() -> bool:
        return function(1) == "new"

    eventually(is_new)


def test_an_old_result_is_served_while_the_function_fails(
    hf: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source()
    function = cached(hf, source, ttl=0.05, stale=60.0)
    function(1)
    source.result = OSError("the database is down")
    sleep(0.1)
    assert function(1) == "old"
    eventually(lambda: "the database is down" in caplog.text)
    assert [function(1) for _ in range(5)] == ["old"] * 5
    found = function.peek(1)
    assert found is not None
    assert found.state == "stale"
    assert len(source.calls) == 2  # it is not tried again at once


def test_a_result_is_refreshed_early_in_the_background(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, refresh=0.05)
    function(1)
    source.result = "new"
    sleep(0.1)
    assert function(1) == "old"

    def is_new() -> bool:
        return function(1) == "new"

    eventually(is_new)
    assert len(source.calls) >= 2


def test_errors_are_not_stored(hf: Holdfast) -> None:
    source = Source()
    source.result = KeyError(7)
    function = cached(hf, source)
    for _ in range(2):
        with pytest.raises(KeyError, match="7"):
            function(1)
    source.result = "well"
    assert function(1) == "well"
    assert len(source.calls) == 3


def test_errors_are_stored_on_request(hf: Holdfast) -> None:
    source = Source()
    source.result = KeyError("seven", 7)
    function = cached(hf, source, error_ttl={KeyError: 60.0})
    for _ in range(3):
        with pytest.raises(KeyError) as caught:
            function(1)
        assert caught.value.args == ("seven", 7)
    assert len(source.calls) == 1
    assert function.peek(1) is None
    function.invalidate(1)
    source.result = LookupError("another class")
    for _ in range(2):
        with pytest.raises(LookupError, match="another class"):
            function(1)
    assert len(source.calls) == 3


def test_an_exception_that_its_args_do_not_make_is_not_stored(
    hf: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    kinds, Picky.made = (NoSuchUser, Denied, Picky), 0
    for error in (NoSuchUser(7), Denied("no", code=2), Picky("first")):
        source = Source()
        source.result = error
        function = cached(hf, source, error_ttl=dict.fromkeys(kinds, 60.0))
        for _ in range(2):
            with pytest.raises(type(error)) as caught:
                function(1)
            assert str(caught.value) == str(error)
        assert len(source.calls) == 2
        assert f"{type(error).__name__} cannot be built from its args" in caplog.text


class NoSuchUser(Exception):
    """Puts another text into `args` than it takes."""

    def __init__(self, user: int) -> None:
        super().__init__(f"there is no user {user}")


class Denied(Exception):
    """Takes more than what is in `args`."""

    def __init__(self, text: str, *, code: int) -> None:
        super().__init__(text)
        self.code = code


class Picky(Exception):
    """Cannot be made a second time."""

    made = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        Picky.made += 1
        if Picky.made > 1:
            raise KeyError(text)


@pytest.mark.parametrize(("none_ttl", "calls"), [(None, 1), (60.0, 1), (0, 2), (timedelta(), 2)])
def test_none_is_a_result(hf: Holdfast, none_ttl: Any, calls: int) -> None:
    source = Source()
    source.result = None
    function = cached(hf, source, none_ttl=none_ttl)
    assert [function(1), function(1)] == [None, None]
    assert len(source.calls) == calls


def test_the_result_chooses_its_ttl(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, ttl=lambda value: 0 if value == "draft" else 60)
    source.result = "draft"
    assert [function(1), function(1)] == ["draft", "draft"]
    source.result = "done"
    assert [function(1), function(1)] == ["done", "done"]
    assert len(source.calls) == 3


def test_jitter_shortens_lives(hf: Holdfast, site: Site) -> None:
    source = Source()
    function = cached(hf, source, ttl=1000.0, jitter=0.5)
    function.many(range(50))
    lives = {site.client.pttl(function.key(n)) // 1000 for n in range(50)}
    assert len(lives) > 10
    assert 490 <= min(lives) <= max(lives) <= 1001


def test_another_version_has_other_results(hf: Holdfast) -> None:
    source = Source()
    cached(hf, source, version=1)(1)
    source.result = "new"
    assert cached(hf, source, version=1)(1) == "old"
    assert cached(hf, source, version=2)(1) == "new"


def test_what_cannot_be_decoded_is_computed_again(
    hf: Holdfast, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    class Old(msgspec.Struct):
        a: int

    class New(msgspec.Struct):
        b: int

    @hf.cached(ttl=60.0, name="struct")
    def old(n: int) -> Old:
        return Old(n)

    @hf.cached(ttl=60.0, name="struct")
    def new(n: int) -> New:
        return New(n)

    old(1)
    assert new(1) == New(1)
    assert "cannot be decoded" in caplog.text
    caplog.clear()
    assert new(1) == New(1)
    for damage in (b"", b"x", b"\x00" * 40, site.client.get(new.key(1))[:-3]):
        site.client.set(new.key(1), damage)
        assert new(1) == New(1)


def test_what_cannot_be_stored_is_returned(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    source = Source()
    function = cached(hf, source)
    for result, why in ((object(), "unsupported"), ("x" * 2_000_000, "1,048,576")):
        source.result = result
        assert function(1) is result
        assert why in caplog.text
    assert not function.peek(1)


def test_a_function_may_return_none_of_the_errors_of_the_server_in_vain(
    hf: Holdfast,
) -> None:
    """An exception of the function is never taken for an outage: it is called once."""
    from holdfast import ServerUnavailable

    source = Source()
    source.result = ServerUnavailable("another server", "it is down")
    with pytest.raises(ServerUnavailable, match="another server"):
        cached(hf, source)(1)
    assert len(source.calls) == 1


def test_a_key_may_depend_on_more_than_the_arguments(hf: Holdfast) -> None:
    language = ContextVar("language", default="en")
    source = Source()
    function = cached(hf, source, key=lambda n: (language.get(), n), near=True)
    assert function(1) == "old"
    language.set("de")
    source.result = "alt"
    assert function(1) == "alt"


def test_large_arguments_are_not_kept(hf: Holdfast) -> None:
    source, text = Source(), "x" * 10_000
    function = cached(hf, source)
    before = sys.getrefcount(text)
    function(text)
    source.calls.clear()
    assert sys.getrefcount(text) == before


def test_methods_name_what_identifies_them(hf: Holdfast) -> None:
    calls = []

    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        def __cache_key__(self) -> str:
            return self.name

        @hf.cached(ttl=60.0, tags=lambda self, item: [f"shop:{self.name}"])
        def price(self, item: str) -> int:
            """Return a price."""
            calls.append((self.name, item))
            return len(item)

        @hf.cached(ttl=60.0, ignore="self")
        def everywhere(self, item: str) -> str:
            return f"{self.name} {item}"

    one, other = Shop("one"), Shop("other")
    assert [one.price("tea"), one.price(item="tea"), other.price("tea")] == [3] * 3
    assert calls == [("one", "tea"), ("other", "tea")]
    assert one.price.many(["tea", "milk"]) == [3, 4]
    assert one.price.invalidate("tea")
    assert one.price.peek("tea") is None
    assert other.price.peek("tea") is not None
    assert Shop.price(other, "tea") == 3
    assert [one.everywhere("x"), other.everywhere("x")] == ["one x", "one x"]
    assert Shop.price.__doc__ == "Return a price."
    assert Shop.price.__name__ == "price"


def test_an_object_without_a_key_is_refused(hf: Holdfast) -> None:
    class Shop:
        @hf.cached(ttl=60.0, name="price")
        def price(self, item: object) -> int:
            return 1

    with pytest.raises(TypeError, match=r"parameter 'self' of price cannot be .* __cache_key__"):
        Shop().price(1)


def test_keys_expire(hf: Holdfast, site: Site) -> None:
    source = Source()
    function = cached(hf, source, ttl=50.0, stale=20.0, tags=["all"])
    function(1)
    assert 60 < site.client.ttl(function.key(1)) <= 71
    function.status()
    found = list(site.client.scan_iter(f"{site.namespace}:*"))
    assert len(found) == 7
    lasting = (b"{catalog:", b"{layout:")
    assert all(site.client.ttl(key) > 0 for key in found if not any(k in key for k in lasting))


def test_an_epoch_lives_longer_than_the_values(hf: Holdfast, site: Site) -> None:
    source = Source()
    cached(hf, source, ttl=50.0, tags=["all"])(1)
    epoch = f"{site.namespace}:{{{keys.TAG}:all}}:epoch"
    first, life_ms = site.client.get(epoch), site.client.pttl(epoch)
    assert life_ms > 600_000
    cached(hf, source, ttl=5000.0, tags=["all"], name="longer")(1)
    assert site.client.pttl(epoch) > 5_600_000
    assert site.client.get(epoch) == first


def test_an_epoch_lives_longer_than_what_the_result_chooses(hf: Holdfast, site: Site) -> None:
    cached(hf, Source(), ttl=lambda _: 50_000.0, tags=["all"])(1)
    epochs = list(site.client.scan_iter(f"{site.namespace}:*:epoch"))
    assert len(epochs) == 2
    assert all(site.client.pttl(key) > 50_000_000 for key in epochs)


@pytest.mark.parametrize("lost", ["tag", "values"])
def test_a_lost_epoch_makes_results_invalid(hf: Holdfast, site: Site, lost: str) -> None:
    """Even after it was set again: as when the server evicts keys, or fails over."""
    source = Source()
    function = cached(hf, source, tags=["all"])
    function.many([1, 2])
    source.result = "new"
    for key in site.client.scan_iter(f"{site.namespace}:{{{lost}:*epoch"):
        site.client.delete(key)
    assert function(1) == "new"
    assert function(2) == "new"


def test_counts_are_reported(hf: Holdfast) -> None:
    source = Source()
    function = cached(hf, source, stale=5.0)
    function.many([1, 2, 3])
    function.many([1, 2, 3])
    source.result = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        function(4)

    def failure_is_reported() -> bool:
        status = function.status()
        return status is not None and status.failures == 1

    eventually(failure_is_reported)
    status = function.status()
    assert status is not None
    assert (status.name, status.ttl, status.stale, status.version) == ("source", 600.0, 5.0, 1)
    assert (status.hits, status.misses, status.loads, status.failures) == (3, 4, 4, 1)
    assert status.stores == 3
    assert status.hit_rate == 3 / 7
    assert 0 < status.memory < 1000
    assert hf.cached_functions() == {"source": hf.cached_function("source")}
    assert hf.cached_function("none") is None


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({}, TypeError, "cached needs ttl"),
        ({"ttl": -1}, ValueError, "ttl must be 0 seconds or more"),
        ({"ttl": 10**9}, ValueError, "ttl must be a year at most"),
        ({"ttl": 1, "jitter": 1.5}, ValueError, "jitter must be from 0"),
        ({"ttl": 1, "stale": "60"}, TypeError, "stale must be seconds"),
        ({"ttl": 1, "lease": 0.5}, ValueError, "lease must be at least 1 second"),
        ({"ttl": 1, "on_outage": "ignore"}, ValueError, "on_outage must be"),
        ({"ttl": 1, "compress": "lz4"}, ValueError, "compress must be"),
        ({"ttl": 1, "error_ttl": {KeyboardInterrupt: 1}}, TypeError, "error_ttl must name"),
        ({"ttl": 1, "error_ttl": 5}, TypeError, "error_ttl must map"),
        ({"ttl": 1, "key": "n"}, TypeError, "key must be a function"),
        ({"ttl": 1, "version": "2"}, TypeError, "version must be an int"),
        ({"ttl": 1, "tag": ["a"]}, TypeError, "no option 'tag'"),
        ({"ttl": 1, "tags": "a"}, TypeError, "tags of source must be several strings"),
        ({"ttl": 1, "ignore": ["x"]}, TypeError, "no parameter 'x'"),
    ],
)
def test_wrong_options_are_refused(
    hf: Holdfast, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    def source(n: int) -> int:
        return n

    with pytest.raises(error, match=match):
        hf.cached(**{"name": "source", **options})(source).peek(1)


def test_tags_are_checked(hf: Holdfast) -> None:
    source = Source()
    with pytest.raises(ValueError, match="at most 16 tags"):
        cached(hf, source, tags=lambda n, unit="": map(str, range(17)))(1)
    with pytest.raises(TypeError, match="a name must be a str"):
        cached(hf, source, tags=lambda n, unit="": [n])(1)
    assert source.calls == []


def test_a_full_server_does_not_stop_the_function(
    hf: Holdfast, caplog: pytest.LogCaptureFixture, site: Site
) -> None:
    """Here: a key of another type, which the server refuses to read."""
    source = Source()
    function = cached(hf, source)
    site.client.hset(function.key(1), "a", "b")
    assert function(1) == "old"
    assert "called without their cache" in caplog.text
    assert len(source.calls) == 1
    assert caplog.records[-1].levelno == logging.WARNING
