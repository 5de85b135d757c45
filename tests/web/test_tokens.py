"""Tokens: bound to a user, for a time, under a secret."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.web import Tokens

SECRET = b"one secret of these tests, 32 bytes or more"
OTHER = b"the other secret of the tests, 32 bytes too"


GUESSED = (
    b"a" * 32,
    b"ab" * 16,
    b"password" * 4,
    b"password" * 4 + b"1",
    b"0123456789abcdef" * 2,
    b"abcdefghijklmnopqrstuvwxyz0123456789",
    b"a" * 31 + b"b",
    b"\0" * 64,
    bytes(range(32)),
)
"""Long secrets that hold next to nothing."""


class Clock:
    """A clock that stands still until it is moved."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@given(st.text(min_size=1, max_size=200))
def test_a_token_is_of_its_user(user: str) -> None:
    """Whatever the name."""
    tokens = Tokens(SECRET)
    assert tokens.user(tokens.issue(user)) == user


def test_a_token_ends() -> None:
    """By the clock of whoever checks it, to the instant."""
    clock = Clock()
    tokens = Tokens(SECRET, clock=clock)
    token = tokens.issue("jill", lifetime=timedelta(minutes=1))
    clock.now += 59.9
    assert tokens.user(token) == "jill"
    clock.now += 0.1
    assert tokens.user(token) is None


def test_every_bit_counts() -> None:
    """A token that differs anywhere is none, nor is another spelling of the same bytes."""
    tokens = Tokens(SECRET)
    token = tokens.issue("jill")
    for i, old in enumerate(token):
        for new in ("A", "B", "-", ".", "=", "é", ""):
            if new != old:
                assert tokens.user(token[:i] + new + token[i + 1 :]) is None
    assert tokens.user(token + "=") is None
    assert tokens.user(token + "\n") is None


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "hf1", "hf1..", "hf1.e30.e30", "x" * 5000, "\N{SNOWMAN}.a.b", "hf1.%.%"],
)
def test_what_is_no_token(token: str) -> None:
    """Is nobody's, and no error."""
    assert Tokens(SECRET).user(token) is None


def test_claims_are_not_believed_without_their_signature() -> None:
    """Nor with that of another user's."""
    tokens = Tokens(SECRET)
    version, claims, signature = tokens.issue("jill").split(".")
    data = urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).replace(b"jill", b"root")
    forged = urlsafe_b64encode(data).rstrip(b"=").decode()
    assert tokens.user(f"{version}.{forged}.{signature}") is None
    assert Tokens(OTHER).user(tokens.issue("jill")) is None


def test_secrets_are_replaced_without_anybody_logging_in_anew() -> None:
    """The first one signs, all are accepted."""
    old = Tokens(SECRET).issue("jill")
    both = Tokens(OTHER, SECRET)
    assert both.user(old) == "jill"
    assert Tokens(OTHER).user(both.issue("jill")) == "jill"
    assert Tokens(SECRET).user(both.issue("jill")) is None


@pytest.mark.parametrize(
    "refused", [[], [b"short"], [SECRET, SECRET[:31]], *([each] for each in GUESSED)]
)
def test_secrets_that_can_be_guessed_are_refused(refused: list[bytes]) -> None:
    """In words."""
    with pytest.raises(ValueError, match="secret"):
        Tokens(*refused)


def test_random_secrets_are_accepted() -> None:
    """In each usual form."""
    for _ in range(1000):
        Tokens(secrets.token_bytes(32), secrets.token_hex(16).encode())
        Tokens(secrets.token_hex(32).encode(), secrets.token_urlsafe(32).encode())


def test_a_token_says_when_it_was_made() -> None:
    """And between which instants it is valid; tokens of older releases have no such instant."""
    clock = Clock()
    tokens = Tokens(SECRET, clock=clock)
    token = tokens.issue("jill", lifetime=60)
    clock.now += 20
    validity = tokens.validity(token)
    assert validity is not None
    assert (validity.issued_at, validity.ends_at) == (Clock.now, Clock.now + 60)
    assert validity.left_s == pytest.approx(40)
    assert tokens.validity(token + "x") is None


@pytest.mark.parametrize("lifetime", [0, -1, float("nan"), float("inf"), timedelta(days=5000)])
def test_lifetimes_have_an_end(lifetime: float | timedelta) -> None:
    """At most ten years."""
    with pytest.raises(ValueError, match="lifetime"):
        Tokens(SECRET).issue("jill", lifetime=lifetime)


@pytest.mark.parametrize("user", ["", "x" * 4000])
def test_users_that_no_token_can_name(user: str) -> None:
    """Nobody, and who would not fit into a header."""
    with pytest.raises(ValueError, match="token"):
        Tokens(SECRET).issue(user)
