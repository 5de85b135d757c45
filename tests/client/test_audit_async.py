"""A namespace that is in use is sound, and looking at it takes no right to write."""

from client.crew import working
from conftest import Site
from faults.servers import Server
from holdfast import AsyncHoldfast, Retry, TaskRegistry, acl_rule
from soundness import assert_sound

NEVER = 3600.0
tasks = TaskRegistry()


@tasks.task(queue="used", retry=Retry(attempts=2, backoff=0.001))
def often(n: int) -> int:
    if n % 7 == 0:
        raise ValueError("as it was told to")
    return n


async def use(hf: AsyncHoldfast, n: int) -> None:
    """Something of everything."""
    await hf.enqueue_many([often.call(i) for i in range(100)])
    await hf.enqueue(often.call(n).options(delay=NEVER))
    await (await hf.enqueue(often.call(n).options(delay=NEVER, expires=2 * NEVER))).cancel()
    await (await hf.enqueue(often.call(n))).cancel()
    async with hf.lock("used").hold(timeout=30):
        await hf.counter("used").add()
    async with hf.semaphore("used", limit=2).hold(timeout=30):
        await hf.completions("used").add(f"Name {n}")
        await hf.recent("used").touch(f"Name {n}")
    box = hf.mailbox("used")
    await box.send(n, sender="jill")
    await box.ack(await box.fetch())
    await hf.create_chat(["a", "b"], sender="a", body=n, keep=2)


async def test_a_namespace_in_use_is_sound(hf: AsyncHoldfast, site: Site) -> None:
    with working(site, tasks):
        for n in range(5):
            await use(hf, n)
            report = await hf.audit()
            assert (report.damages, report.complete, report.units > 8) == ((), True, True)
    assert_sound(site.url, site.namespace)


async def test_an_empty_namespace_is_sound(hf: AsyncHoldfast) -> None:
    report = await hf.audit()
    assert (report.keys, report.units, report.damages) == (0, 0, ())


async def test_who_may_only_read_may_audit(standalone: Server) -> None:
    name = "test-reader"
    async with AsyncHoldfast.from_url(standalone.url, namespace=name) as hf:
        await use(hf, 1)
        sound = await hf.audit()
    with standalone.client() as client:
        only = [*acl_rule(name).split(), "-@write", "-@scripting", "-@pubsub"]
        client.execute_command("ACL", "SETUSER", name, *only, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            async with AsyncHoldfast.from_url(url, namespace=name) as hf:
                assert (await hf.audit()).damages == sound.damages == ()
        finally:
            client.execute_command("ACL", "DELUSER", name)
