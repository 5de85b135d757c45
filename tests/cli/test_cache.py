"""`holdfast cache`."""

import json

from cli.conftest import runner
from conftest import Site
from holdfast import Holdfast


def test_functions_are_listed_shown_and_invalidated(site: Site) -> None:
    run = runner(site)
    calls = []
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        assert "no cached functions" in run("cache").stdout

        @hf.cached(ttl=60.0, stale=600.0, name="app.double", tags=["all"])
        def double(n: int) -> int:
            calls.append(n)
            return 2 * n

        double.many([1, 2])
        double.many([1, 2])
        assert double.status() is not None
        assert "app.double" in run("cache", "ls").stdout
        assert json.loads(run("cache", "ls", "--json").stdout)["hit_rate"] == 0.5
        shown = run("cache", "show", "app.double").stdout
        assert "1 min + 10 min stale" in shown
        assert "50.0 %" in shown
        found = json.loads(run("cache", "show", "app.double", "--json").stdout)
        assert (found["function"], found["calls"], found["loads"]) == ("app.double", 4, 2)
        assert run("cache", "show", "app.single").exit_code == 3

        key = double.key(1).partition(":value:")[2]
        one = run("cache", "invalidate", "app.double", "--key", key, "--yes")
        assert f"invalidated the result '{key}' of cached function 'app.double'" in one.stdout
        double.many([1, 2])
        assert calls == [1, 2, 1]
        assert run("cache", "invalidate", "app.double").exit_code != 0  # it asks
        assert "all results of" in run("cache", "invalidate", "app.double", "--yes").stdout
        double.many([1, 2])
        assert len(calls) == 5
        assert "with the tag 'all'" in run("cache", "invalidate", "--tag", "all", "--yes").stdout
        double.many([1, 2])
        assert len(calls) == 7
        assert run("cache", "invalidate", "app.single", "--yes").exit_code == 3
        for wrong in ([], ["app.double", "--tag", "all"], ["--tag", "all", "--key", "x"]):
            assert run("cache", "invalidate", *wrong, "--yes").exit_code == 2
