"""`holdfast limits`: list rate limiters, show how much of a limit is used, and reset it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from .. import Limit
from ..inspect.formats import counted, duration, exact_duration
from .confirm import Yes, confirm
from .connection import with_client
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line, shown_name
from .resources import Resource, Row, group, list_command

if TYPE_CHECKING:
    from .. import Decision, Holdfast, LimitUsage, RateLimiter

Name = Annotated[str, argument("NAME", "The rate limiter.")]
Subject = Annotated[
    str,
    option("SUBJECT", "What is counted separately, such as user:7; default: the limiter."),
]


def _limiter(hf: Holdfast, name: str) -> RateLimiter | None:
    limits = hf.rate_limits(containing=name).get(name)
    if limits is None:
        hf.rate_limit(name, Limit(1, per=1.0))  # raises the error for an invalid name
        return None
    return hf.rate_limit(name, *limits)


def _read(hf: Holdfast, name: str) -> Decision | None:
    limiter = _limiter(hf, name)
    return None if limiter is None else limiter.peek()


def _described(limit: Limit) -> str:
    amount = f"{limit.amount:,} {limit.name}" if limit.name else counted(limit.amount, "request")
    return f"{amount} per {exact_duration(limit.per_ms / 1000)}"


def _used(usage: LimitUsage) -> str:
    waiting = f", {usage.reserved:,} of it waiting" if usage.reserved else ""
    return f"{usage.used:,} of {usage.limit.amount:,}{waiting}"


def _rows(decision: Decision) -> Iterator[Row]:
    for usage in decision.limits:
        yield _described(usage.limit), _used(usage)
    yield "next call", "now" if decision.allowed else f"in {duration(decision.retry_after)}"


def _json(decision: Decision) -> dict[str, Any]:
    return {
        "allowed": decision.allowed,
        "retry_after": decision.retry_after,
        "limits": [
            {
                "name": usage.limit.key,
                "amount": usage.limit.amount,
                "per": usage.limit.per_ms / 1000,
                "used": usage.used,
                "remaining": usage.remaining,
                "waiting": usage.reserved,
                "reset_after": usage.reset_after,
            }
            for usage in decision.limits
        ],
    }


LIMITERS: Final = Resource["Decision"](
    noun="rate limiter",
    key="limiter",
    names=lambda hf: list(hf.rate_limits()),
    read=_read,
    columns={
        "limits": lambda decision: ", ".join(_described(each.limit) for each in decision.limits),
        "used": lambda decision: ", ".join(f"{each.used:,}" for each in decision.limits),
        "waiting": lambda decision: f"{sum(each.reserved for each in decision.limits):,}",
    },
    left=("limits",),
    as_json=_json,
    rows=_rows,
    recent="used last",
)

app: Final = group(
    "limits",
    "List rate limiters; show what they let pass, and reset them.",
    list_command(
        """List the rate limiters of the last month: limits, use, and what waits.

        The use is that of the limiter itself, without its subjects.
        """,
        LIMITERS,
    ),
)


@app.command("show", example="holdfast limits show openai --subject user:7")
@with_client()
def show_limiter(hf: Holdfast, name: Name, subject: Subject = "", as_json: AsJson = False) -> None:
    """Show how much of each limit is used, and what waits."""
    limiter = _limiter(hf, name)
    if limiter is None:
        LIMITERS.not_found(hf, name)
    decision = limiter.of(subject).peek()
    if as_json:
        print_json({"limiter": name, "subject": subject}, _json(decision))
    else:
        print_block(
            field_table(
                [("limiter", shown_name(name)), ("subject", shown_name(subject)), *_rows(decision)]
            )
        )


@app.command("reset", example="holdfast limits reset openai --subject user:7")
@with_client()
def reset_limiter(hf: Holdfast, name: Name, subject: Subject = "", yes: Yes = False) -> None:
    """Forget the calls that have passed. Waiting calls keep the times that they have reserved."""
    limiter = _limiter(hf, name)
    if limiter is None:
        LIMITERS.not_found(hf, name)
    what = f"subject {subject!r} of rate limiter {name!r}" if subject else f"rate limiter {name!r}"
    confirm(f"forget what has passed {what}", yes=yes)
    found = limiter.of(subject).reset()
    print_line(f"{what} is reset" if found else f"{what} was not in use")
