"""What the screens show of cached functions, and what their actions do."""

from __future__ import annotations

from web.dashboard.test_screens import done, see
from web.running import RunningApp


def test_functions_are_shown_and_invalidated(live: RunningApp) -> None:
    calls = []
    operator = live.visitor("operator", Accept="text/html")
    assert "Invalidate" not in operator.get("/functions").text  # there is nothing yet

    @live.hf.cached(ttl=600.0, name="app.double", tags=["all"])
    def double(n: int) -> int:
        calls.append(n)
        return 2 * n

    double.many([1, 2, 1])
    assert double.status() is not None
    [listed] = see(live, "functions", q="double")["functions"]
    assert (listed["name"], listed["misses"] + listed["hits"]) == ("app.double", 3)
    assert "Invalidate" in operator.get("/functions").text
    seen = see(live, "function", name="app.double")
    assert seen["status"]["loads"] == 2
    assert see(live, "function", name="app.single")["status"] is None
    text, _ = done(live, "function/invalidate", name="app.double", key="1:[1]")
    assert text == "The result 1:[1] of app.double was invalidated."
    double.many([1, 2])
    assert calls == [1, 2, 1]
    done(live, "function/invalidate", name="app.double")
    double.many([1, 2])
    assert len(calls) == 5
    done(live, "tag/invalidate", tag="all")
    double.many([1, 2])
    assert len(calls) == 7
