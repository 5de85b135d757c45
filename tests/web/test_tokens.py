"""Tokens: bound to a user, for a time, under a secret."""

from __future__ import annotations

import random
import secrets
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.web import Tokens
from holdfast.web.secret_strength import LEAST_BITS, estimated_bits

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
    b"0123456789abcdef" * 4,
    b"zyxwvutsrqponmlkjihgfedcba987654321",
    b"qwertyuiopasdfghjklzxcvbnm123456",
    b"QWERTYUIOPASDFGHJKLZXCVBNM!@#$%^",
    b"qazwsxedcrfvtgbyhnujmikolp123456",
    b"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9",
    b"qwertzuiopasdfghjklyxcvbnm098765",
    b"abc123" * 6,
    b"aaaabbbbccccddddeeeeffffgggghhhh",
    b"a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6",
    b"00112233445566778899aabbccddeeff",
    bytes(range(32)).hex().encode(),
    b"changeme-changeme-changeme-changeme",
    b"12341234567856789012901234563456",
    b"acegikmoqsuwybdfhjlnprtvxz02468135",
)
"""Long secrets that are easy to guess: repetitions, sequences and keyboard rows."""

GENERATORS = {
    "bytes": bytes,
    "hex": lambda data: data.hex().encode(),
    "short hex": lambda data: data[:16].hex().encode(),
    "base64": b64encode,
    "base64url": lambda data: urlsafe_b64encode(data).rstrip(b"="),
    "uuid": lambda data: str(UUID(bytes=data[:16], version=4)).encode(),
    "digits": lambda data: f"{int.from_bytes(data) % 10**40:040}".encode(),
}
"""The usual forms of 32 random bytes."""


class Clock:
    """A clock that stands still until it is moved."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@given(st.text(min_size=1, max_size=200))
def test_a_token_is_of_its_user(user: str) -> None:
    tokens = Tokens(SECRET)
    assert tokens.user(tokens.issue(user)) == user


def test_a_token_ends() -> None:
    """A token expires by the clock of the process that checks it, to the instant."""
    clock = Clock()
    tokens = Tokens(SECRET, clock=clock)
    token = tokens.issue("jill", lifetime=timedelta(minutes=1))
    clock.now += 59.9
    assert tokens.user(token) == "jill"
    clock.now += 0.1
    assert tokens.user(token) is None


def test_every_bit_counts() -> None:
    """Reject a token with any changed character, and any other encoding of the same bytes."""
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
    """Return None for a malformed token, without an error."""
    assert Tokens(SECRET).user(token) is None


def test_claims_are_not_believed_without_their_signature() -> None:
    """Reject claims that are unsigned, or signed for another user."""
    tokens = Tokens(SECRET)
    version, claims, signature = tokens.issue("jill").split(".")
    data = urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).replace(b"jill", b"root")
    forged = urlsafe_b64encode(data).rstrip(b"=").decode()
    assert tokens.user(f"{version}.{forged}.{signature}") is None
    assert Tokens(OTHER).user(tokens.issue("jill")) is None


def test_secrets_are_replaced_without_a_new_login() -> None:
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
    with pytest.raises(ValueError, match="secret"):
        Tokens(*refused)


@pytest.mark.parametrize("form", GENERATORS)
def test_generated_secrets_are_never_refused(form: str) -> None:
    """A property of random bytes, so they are drawn here: a search would find sequences."""
    seed = secrets.randbits(64)
    drawn = random.Random(seed)
    for _ in range(500):
        secret = GENERATORS[form](drawn.randbytes(32))
        assert estimated_bits(secret) >= LEAST_BITS, (seed, secret)


@given(st.binary(max_size=100), st.binary(max_size=40))
def test_a_longer_secret_is_not_weaker(start: bytes, more: bytes) -> None:
    """What comes later never makes the characters before it predictable."""
    assert estimated_bits(start + more) >= estimated_bits(start)


@given(st.binary(min_size=1, max_size=8), st.integers(0, 99))
def test_repeating_a_short_pattern_adds_nothing(pattern: bytes, times: int) -> None:
    """Two characters of the second round are the most that the estimate counts once more."""
    assert estimated_bits(pattern * (times + 1)) <= 10 * 3


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
    """A lifetime is at most ten years."""
    with pytest.raises(ValueError, match="lifetime"):
        Tokens(SECRET).issue("jill", lifetime=lifetime)


@pytest.mark.parametrize("user", ["", "x" * 4000])
def test_users_that_no_token_can_name(user: str) -> None:
    """Reject an empty user, and one that is too long for a header."""
    with pytest.raises(ValueError, match="token"):
        Tokens(SECRET).issue(user)
