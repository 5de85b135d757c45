"""Test `holdfast counters`: list them, and draw one as a chart."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

import pytest

from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from cli.programs import on_terminal
from faults.servers import Server
from holdfast import Holdfast, Sample
from holdfast.cli.bar_chart import bar_chart
from holdfast.cli.counters import parse_duration

START = datetime(2026, 3, 14, 15, tzinfo=UTC)


def samples(*values: int, precision: int = 60) -> list[Sample]:
    step = timedelta(seconds=precision)
    return [Sample(START + n * step, value) for n, value in enumerate(values)]


def test_counters_are_listed(hf: Holdfast, run: Run) -> None:
    """List them with and without `ls`, for people and for scripts."""
    hf.counter("hits").add(1204)
    hf.counter("hits").add(3000, at=time.time() - 7200)
    hf.counter(HOSTILE, precisions=[5], keep=30).add(-3)
    listed = run("counters", "ls")
    assert listed.exit_code == 0
    assert listed.stdout == run("counters").stdout
    lines = [line.split() for line in listed.stdout.splitlines()]
    assert lines[0] == ["counter", "last", "minute", "last", "hour", "last", "day"]
    assert lines[1] == [VISIBLE, "-3", "-", "-"]
    assert lines[2][:-1] == ["hits", "1,204", "1,204", "4,204"]
    assert rows(run("counters", "ls", "--json")) == [
        {"counter": HOSTILE, "last_minute": -3, "last_hour": None, "last_day": None},
        {"counter": "hits", "last_minute": 1204, "last_hour": 1204, "last_day": 4204},
    ]


def test_one_counter_as_a_chart(hf: Holdfast, run: Run) -> None:
    """Draw the last hour by default, in its finest samples."""
    now = time.time()
    hf.counter("hits").add(10)
    hf.counter("hits").add(20, at=now - 1800)
    hf.counter("hits").add(400, at=now - 4000)
    shown = run("counters", "show", "hits")
    assert shown.exit_code == 0
    assert "the last 1 h, in samples of 1 min" in shown.stdout
    assert "30\n" in shown.stdout  # in total
    assert shown.stdout.count("█") == 8 + 4
    assert max(map(len, shown.stdout.splitlines())) <= 80
    same = run("counters", "show", "hits", "--precision", "60", "--last", "1h")
    assert same.stdout.splitlines()[:3] == shown.stdout.splitlines()[:3]
    assert "430\n" in run("counters", "show", "hits", "--precision", "300").stdout
    assert "\x1b" not in shown.stdout


def test_one_counter_for_scripts(hf: Holdfast, run: Run) -> None:
    """Print every sample."""
    hf.counter("hits", precisions=[10, 100], keep=5).add(10)
    [output] = rows(run("counters", "show", "hits", "--last", "5m", "--json"))
    assert (output["counter"], output["precision"], output["total"]) == ("hits", 100, 10)
    assert output["rate"] == 10 / 300
    assert [sample["value"] for sample in output["samples"]] in ([0, 0, 10], [0, 10, 0])
    assert output["samples"][0]["start"].endswith("Z")
    [output] = rows(run("counters", "show", "hits", "--json"))  # it keeps less than an hour
    assert (output["precision"], len(output["samples"])) == (100, 5)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["hit"], 3, "there is no counter 'hit' in namespace .*; did you mean 'hits'?"),
        (["hits", "--precision", "7"], 2, "counter 'hits' has no precision of 7 s; it has 10, 60"),
        (["hits", "--last", "1d"], 2, "counter 'hits' keeps 2 h, not 1 d"),
        (["hits", "--last", "soon"], 2, "'soon' is no length of time"),
        (["hits", "--precision", "0"], 2, "Input should be"),
        (["x" * 600], 2, "the limit is 512"),
    ],
)
def test_what_cannot_be_shown(
    hf: Holdfast, run: Run, args: list[str], code: int, message: str
) -> None:
    """Print the reason, and exit with the usual codes."""
    hf.counter("hits", precisions=[10, 60]).add()
    shown = run("counters", "show", *args)
    assert shown.exit_code == code
    assert re.search(message, shown.stderr), shown.stderr
    assert shown.stdout == ""


def test_colours_and_a_narrow_terminal(standalone: Server, request: pytest.FixtureRequest) -> None:
    """Sum neighbouring samples on few columns; use colours only on terminals."""
    where = {"HOLDFAST_URL": standalone.url, "HOLDFAST_NAMESPACE": request.node.name}
    with Holdfast.from_url(standalone.url, namespace=request.node.name) as hf:
        hf.counter("hits").add(7)
    command = ("counters", "show", "hits", "--precision", "1")
    assert "\x1b[36m" in on_terminal(*command, **where)[1]
    code, shown = on_terminal(*command, NO_COLOR="1", COLUMNS="40", **where)
    bare = shown.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert (code, max(map(len, bare.splitlines())) <= 40) == (0, True), bare
    assert "each bar: 4 samples, 4 s" in bare


# The pieces


def test_bars_rise_from_zero() -> None:
    """Fill all rows with the highest bar; print times below the edges."""
    lines, together = bar_chart(samples(0, 4, 8), 60, columns=40, rows=2)
    assert together == 1
    assert lines == [
        "8 ┤        ████",
        "  ┤    ████████",
        "0 ┼────────────",
        "   15:00   15:03",
    ]


def test_bars_rise_from_what_is_below_zero() -> None:
    """Begin the bars at the lowest value, so that negative values are visible."""
    lines, _ = bar_chart(samples(-4, 0, 4), 1, columns=40, rows=1)
    assert lines[:2] == [" 4 ┤    ▄▄▄▄████", "-4 ┼────────────"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("columns", [20, 21, 40, 80, 200])
@pytest.mark.parametrize("count", [1, 2, 60, 119, 1000])
@pytest.mark.parametrize("value", [0, 1, 99_999, 2**63 - 1, -(2**63)])
def test_a_chart_fits(columns: int, count: int, value: int) -> None:
    """Draw any samples within the given columns."""
    lines, _ = bar_chart(samples(*[value] * count), 60, columns=columns, rows=8)
    assert max(map(len, lines)) <= columns
    assert len(lines) == 10


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1h", 3600), ("1h30m", 5400), ("2 d", 172_800), ("5min", 300), ("0.5s", 0.5),
     ("1w", 604_800)],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    """Parse durations as people write them."""
    assert parse_duration(text) == seconds
