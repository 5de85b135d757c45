"""`holdfast idempotency`."""

import json

from cli.conftest import runner
from conftest import Site
from holdfast import Holdfast


def test_a_call_is_shown_and_forgotten(site: Site) -> None:
    run = runner(site)
    assert "no stores" in run("idempotency").stdout
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        store = hf.idempotency("payments")
        call = store.begin("order-17", b"body", user="ann")
        one = ("payments", "order-17", "--user", "ann")
        assert "running" in run("idempotency", "show", *one).stdout
        call.finish(b"paid")
        shown = run("idempotency", "show", *one).stdout
        assert "4 bytes" in shown
        found = json.loads(run("idempotency", "show", *one, "--json").stdout)
        assert 86_000 < found.pop("free_in") <= 86_400
        assert len(found.pop("fingerprint")) == 32
        assert found == {
            "store": "payments",
            "key": "order-17",
            "user": "ann",
            "state": "done",
            "answer_bytes": 4,
        }
        assert json.loads(run("idempotency", "ls", "--json").stdout) == {"store": "payments"}
        assert run("idempotency", "ls").stdout.split() == ["store", "payments"]
        assert run("idempotency", "forget", *one).exit_code != 0
        assert "is forgotten" in run("idempotency", "forget", *one, "--yes").stdout
        assert "there is none" in run("idempotency", "forget", *one, "--yes").stdout
        free = run("idempotency", "show", *one)
        assert (free.exit_code, "is free" in free.stderr) == (3, True)
        assert store.begin("order-17", b"other", user="ann").state == "begun"
