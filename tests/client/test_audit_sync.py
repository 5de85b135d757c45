# Generated from test_audit_async.py by tools/unasync.py: edit that one, then `make sync`.
"""A namespace that is in use is sound, and looking at it takes no right to write."""

from client.crew import working
from conftest import Site
from faults.servers import Server
from holdfast import Holdfast, Retry, TaskRegistry, acl_rule
from soundness import assert_sound

NEVER = 3600.0
tasks = TaskRegistry()


@tasks.task(queue="used", retry=Retry(attempts=2, backoff=0.001))
def often(n: int) -> int:
    if n % 7 == 0:
        raise ValueError("as it was told to")
    return n


def use(hf: Holdfast, n: int) -> None:
    """Something of everything."""
    hf.enqueue_many([often.call(i) for i in range(100)])
    hf.enqueue(often.call(n).options(delay=NEVER))
    (hf.enqueue(often.call(n).options(delay=NEVER, expires=2 * NEVER))).cancel()
    (hf.enqueue(often.call(n))).cancel()
    with hf.lock("used").hold(timeout=30):
        hf.counter("used").add()
    with hf.semaphore("used", limit=2).hold(timeout=30):
        hf.completions("used").add(f"Name {n}")
        hf.recent("used").touch(f"Name {n}")
    box = hf.mailbox("used")
    box.send(n, sender="jill")
    box.ack(box.fetch())
    hf.create_chat(["a", "b"], sender="a", body=n, keep=2)


def test_a_namespace_in_use_is_sound(hf: Holdfast, site: Site) -> None:
    with working(site, tasks):
        for n in range(5):
            use(hf, n)
            report = hf.audit()
            assert (report.damages, report.complete, report.units > 8) == ((), True, True)
    assert_sound(site.url, site.namespace)


def test_an_empty_namespace_is_sound(hf: Holdfast) -> None:
    report = hf.audit()
    assert (report.keys, report.units, report.damages) == (0, 0, ())


def test_who_may_only_read_may_audit(standalone: Server) -> None:
    name = "test-reader"
    with Holdfast.from_url(standalone.url, namespace=name) as hf:
        use(hf, 1)
        sound = hf.audit()
    with standalone.client() as client:
        only = [*acl_rule(name).split(), "-@write", "-@scripting", "-@pubsub"]
        client.execute_command("ACL", "SETUSER", name, *only, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            with Holdfast.from_url(url, namespace=name) as hf:
                assert (hf.audit()).damages == sound.damages == ()
        finally:
            client.execute_command("ACL", "DELUSER", name)
