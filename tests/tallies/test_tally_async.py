"""Tallies: the methods of `AsyncTally`."""

import gzip
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    AsyncLocalFiles,
    Change,
    Count,
    Counted,
    GeoKey,
    Rejected,
    TallyReport,
)
from tallies.tables import small_table

LINES = """\
173.194.38.137 2011-10-10 13:55:36 achievement-762
173.194.1.1 2011-10-10 13:55:37 login
1.0.0.7 2011-10-10 13:55:38 login
1.0.50.1 2011-10-10 13:55:38 login
2a02:8100::5 2011-10-11 00:00:01 login
::ffff:1.0.0.7 2011-10-11 00:00:01 login
10.0.0.1 2011-10-11 00:00:02 login
999.1.1.1 2011-10-11 00:00:03 login
nonsense

1.0.0.7 2911-10-11 00:00:04 login
"""


def words(line: bytes) -> Counted | None:
    day, *rest = line.decode().split()
    return Counted(day, {f"word {n}": word for n, word in enumerate(rest)})


async def test_lines_are_counted_by_country_region_and_city(
    hf: AsyncHoldfast, tmp_path: Path
) -> None:
    log = tmp_path / "logs" / "a.log"
    log.parent.mkdir()
    log.write_text(LINES)
    seen: list[TallyReport] = []
    tally = hf.tally("daily")
    key = GeoKey(small_table(tmp_path))
    report = await tally.aggregate(AsyncLocalFiles(log.parent), key=key, progress=seen.append)
    assert report == TallyReport(1, 0, 0, 11, 4, len(LINES), 1)
    assert seen[-1] == report
    assert await tally.days() == {"2011-10-10": 4, "2011-10-11": 3}
    assert await tally.total("2011-10-10") == await tally.total(date(2011, 10, 10)) == 4
    assert await tally.top("country", day="2011-10-10") == [("US", 2), ("AU", 1), ("??", 1)]
    assert await tally.top("city", day="2011-10-10", limit=1) == [
        Count("US/California/Mountain View", 2)
    ]
    assert await tally.count("region", "DE/Hesse", day="2011-10-11") == 1
    assert await tally.count("country", "private", day="2011-10-11") == 1
    assert await tally.share_of("country", "US", day="2011-10-10") == 0.5
    assert await tally.share_of("country", "US", day="2011-10-12") == 0
    assert await tally.compare("2011-10-10", "2011-10-11", dimension="country") == [
        Change("AU", 1, 1),
        Change("DE", 0, 1),
        Change("private", 0, 1),
        Change("US", 2, 0),
        Change("??", 1, 0),
    ]
    assert await tally.rejected("2011-10-11") == Rejected(
        {"no address": 1}, [b"999.1.1.1 2011-10-11 00:00:03 login"]
    )
    others = await tally.rejected()
    assert others.reasons == {"malformed": 2, "day out of range": 1}
    assert others.lines == 3
    assert sorted(others.samples) == [b"", b"1.0.0.7 2911-10-11 00:00:04 login", b"nonsense"]
    assert await hf.tallies() == ["daily"]


async def test_files_of_a_day_add_up_and_none_counts_twice(
    hf: AsyncHoldfast, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "a.log").write_text("2011-10-10 x\n2011-10-10 y\n")
    (tmp_path / "in" / "a.log").write_text("2011-10-10 x\r\n2011-10-10 z")
    (tmp_path / "b.log.gz").write_bytes(
        gzip.compress(b"2011-10-10 x\n2011-10") + gzip.compress(b"-10 x\n")
    )
    tally = hf.tally("words")
    for files in (3, 3):
        report = await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)
        assert report.files == files
    assert report.lines == 0
    assert await tally.top("word 0", day="2011-10-10") == [("x", 4), ("z", 1), ("y", 1)]
    with (tmp_path / "a.log").open("a") as log:
        log.write("2011-10-11 x\n")
    assert (await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)).lines == 1
    assert await tally.days() == {"2011-10-10": 6, "2011-10-11": 1}


async def test_a_file_with_another_beginning_is_a_new_file(
    hf: AsyncHoldfast, tmp_path: Path
) -> None:
    log, tally = tmp_path / "a.log", hf.tally("words")
    for n in range(3):
        log.write_text(f"2011-10-10 x{n}\n")
        await tally.aggregate(AsyncLocalFiles(log), key=words)
    assert await tally.total("2011-10-10") == 3


async def test_a_damaged_file_counts_up_to_the_damage(hf: AsyncHoldfast, tmp_path: Path) -> None:
    whole = gzip.compress(b"2011-10-10 x\n" * 100_000, 0)
    (tmp_path / "a.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.log").write_text("2011-10-10 y\n")
    tally = hf.tally("words")
    sources = AsyncLocalFiles([tmp_path / "a.gz", tmp_path / "none.log", tmp_path / "b.log"])
    report = await tally.aggregate(sources, key=words)
    assert (report.files, report.damaged) == (1, 2)
    assert 40_000 < report.lines < 60_000
    assert report.lines == await tally.total("2011-10-10")
    assert await tally.count("word 0", "y", day="2011-10-10") == 1
    again = await tally.aggregate(sources, key=words)
    assert (again.lines, again.damaged) == (0, 2)


async def test_overlong_lines_are_rejected(hf: AsyncHoldfast, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"2011-10-10 x\n" + b"y" * 200_000 + b"\n2011-10-10 z\n")
    tally = hf.tally("words")
    report = await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)
    assert (report.lines, report.rejected) == (3, 1)
    assert (await tally.rejected()).reasons == {"overlong": 1}
    assert await tally.total("2011-10-10") == 2


async def test_many_values_are_one_commit(hf: AsyncHoldfast, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "".join(f"2011-10-1{n % 3} v{n % 5000} w{n % 7}\n" for n in range(30_000))
    )
    tally = hf.tally("words")
    assert (await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)).commits == 1
    assert await tally.days() == {f"2011-10-1{n}": 10_000 for n in range(3)}
    top = await tally.top("word 0", day="2011-10-12", limit=10_000)
    assert len(top) == 5000
    assert {count.lines for count in top} == {2}
    assert sum(c.lines for c in await tally.top("word 1", day="2011-10-11")) == 10_000


async def test_everything_expires(hf: AsyncHoldfast, site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2011-10-10 x\nnonsense\n" + "2011-10-10 y\n" * 5000)
    await hf.tally("words").aggregate(AsyncLocalFiles(tmp_path), key=words)
    found = [key for key in site.client.scan_iter(f"{site.namespace}:*") if b"{tally:" in key]
    assert len(found) >= 5
    for key in found:
        assert 399 * 86_400 < site.client.ttl(key) <= 400 * 86_400


async def test_a_new_tally_is_empty(hf: AsyncHoldfast) -> None:
    tally = hf.tally("none")
    assert await tally.days() == {}
    assert await tally.top("country", day="2011-10-10") == []
    assert await tally.rejected() == Rejected({}, [])
    assert await tally.compare("2011-10-10", "2011-10-11", dimension="country") == []
    assert await hf.tallies() == []
    assert "none" in repr(tally)


async def test_the_day_after_tomorrow_is_out_of_range(hf: AsyncHoldfast, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    days = [(now + timedelta(days=n)).date().isoformat() for n in (0, 1, 3)]
    (tmp_path / "a.log").write_text("".join(f"{day} x\n" for day in days))
    tally = hf.tally("words")
    await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)
    assert await tally.days() == dict.fromkeys(days[:2], 1)
    assert (await tally.rejected()).reasons == {"day out of range": 1}


async def test_wrong_arguments_raise_errors(hf: AsyncHoldfast, tmp_path: Path) -> None:
    tally = hf.tally("words")
    for day in ("yesterday", "2011-02-29", "2011-1-1"):
        with pytest.raises(ValueError, match="day must be a date"):
            await tally.total(day)
    with pytest.raises(TypeError, match="day must be a date"):
        await tally.total(20111010)  # type: ignore[arg-type]
    for limit in (0, 10_001):
        with pytest.raises(ValueError, match="limit must be"):
            await tally.top("country", day="2011-10-10", limit=limit)
    with pytest.raises(TypeError, match="limit must be"):
        await tally.top("country", day="2011-10-10", limit=2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a GeoKey or a function"):
        await tally.aggregate(AsyncLocalFiles(tmp_path), key=None)  # type: ignore[arg-type]


async def test_dimensions_are_listed_by_day(hf: AsyncHoldfast, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2011-10-10 a b\n2011-10-10 c\n2011-10-11 d\n2011-10-12\n")
    tally = hf.tally("daily")
    await tally.aggregate(AsyncLocalFiles(tmp_path), key=words)
    assert await tally.dimensions("2011-10-10") == {"word 0": 2, "word 1": 1}
    assert await tally.dimensions("2011-10-11") == {"word 0": 1}
    assert await tally.dimensions("2011-10-12") == {}
