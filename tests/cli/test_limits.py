"""`holdfast limits`."""

import json

from cli.conftest import runner
from conftest import Site
from holdfast import Holdfast, Limit


def test_a_limiter_is_shown_and_reset(site: Site) -> None:
    run = runner(site)
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(60, per=60.0), Limit(5000, per=60.0, name="tokens"))
        limiter.of("ann").try_acquire({"tokens": 5000})
        shown = run("limits", "show", "api", "--subject", "ann")
        assert "60 requests per" in shown.stdout
        assert "5,000 of 5,000" in shown.stdout
        hf.rate_limit("crawler", Limit(1, per=0.2)).try_acquire()
        assert "1 request per 0.2 s" in run("limits", "show", "crawler").stdout
        found = json.loads(run("limits", "show", "api", "--subject", "ann", "--json").stdout)
        assert (found["limiter"], found["subject"], found["allowed"]) == ("api", "ann", False)
        assert [each["used"] for each in found["limits"]] == [1, 5000]
        assert run("limits", "reset", "api", "--subject", "ann").exit_code != 0
        assert "is reset" in run("limits", "reset", "api", "--subject", "ann", "--yes").stdout
        assert limiter.of("ann").peek().allowed
        assert "was not in use" in run("limits", "reset", "api", "--yes").stdout
        assert run("limits", "reset", "apis", "--yes").exit_code == 3
