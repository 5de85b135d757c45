"""The public API as type checkers see it. Checked by mypy and basedpyright (strict), never run.

A line that must not pass carries `type: ignore` with the code of its error: should it pass one day,
both report the comment as unused.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, assert_type

import redis
import redis.asyncio

import holdfast
from holdfast import (
    AsyncChat,
    AsyncFeedFile,
    AsyncFenced,
    AsyncFileFeed,
    AsyncHoldfast,
    AsyncInbox,
    AsyncLease,
    AsyncLocalFiles,
    AsyncLock,
    AsyncMailbox,
    AsyncQueue,
    AsyncRowCache,
    AsyncSemaphore,
    AsyncTaskHandle,
    AsyncWorker,
    Batch,
    Block,
    CachedFunctionStatus,
    CachedRow,
    CachedValue,
    CacheRegistry,
    Call,
    Change,
    Chat,
    ChatStatus,
    CommitHook,
    Consumer,
    Count,
    Counted,
    EndedTask,
    FeedFile,
    FeedStatus,
    Fenced,
    FileFeed,
    Fsynced,
    Gap,
    GeoKey,
    GeoLocation,
    GeoTable,
    GiveUp,
    Holder,
    Holdfast,
    HoldfastError,
    Inbox,
    InboxBatches,
    InboxChatIds,
    InboxUnread,
    Lease,
    LeaseLost,
    LoadFailed,
    LocalFiles,
    Lock,
    LockAll,
    LockState,
    LockTimeout,
    Mailbox,
    MailboxFull,
    MailboxStatus,
    Message,
    Middleware,
    OutcomeUnknown,
    PublishedFile,
    PublishedFolder,
    Queue,
    QueueAtCapacity,
    QueueStats,
    Reader,
    RefreshReport,
    Replica,
    Replicated,
    Retry,
    RetryAfter,
    RowCache,
    RowCacheStatus,
    RowExplanation,
    RunningTask,
    RwLock,
    RwLockState,
    Semaphore,
    SemaphoreState,
    ServerFacts,
    ServerRefused,
    ServerUnavailable,
    Singleton,
    SlowCommand,
    Snooze,
    SqlRows,
    TallyReport,
    Task,
    TaskExists,
    TaskHandle,
    TaskRegistry,
    TaskStatus,
    TaskSteps,
    Throughput,
    Undecodable,
    Unique,
    Worker,
    WorkerInfo,
    WorkerStatus,
    acl_rule,
    current_task,
)

# Registering: the signature stays, the result is what the function gives, awaited.

tasks = TaskRegistry()


@tasks.task(queue="email", priority="high", retry=Retry(attempts=3, backoff=2.0, longest=60.0))
async def mail(seller: str, price: int, *, buyer: str = "") -> str:
    return f"{seller} {price} {buyer}"


@tasks.task()
def resize(path: str, *sizes: int) -> int:
    return len(sizes)


@tasks.task(name="nothing")
def nothing() -> None: ...


assert_type(mail.name, str)
assert_type(mail.queue, str)
assert_type(mail.retry, Retry)
assert_type(mail.is_async, bool)
assert_type(tasks.get("mail"), Task[..., Any])
assert_type(tasks.queues(), tuple[str, ...])
assert_type(len(tasks), int)
for each in tasks:
    assert_type(each, Task[..., Any])


@tasks.task(cpu=True, timeout=60.0)
def compute(n: int) -> float:
    return n / 2


assert_type(compute(1), Any)
assert_type(compute.cpu, bool)
assert_type(compute.call(1), Call[float])
tasks.task(cpu="yes")  # type: ignore[arg-type]
tasks.task(priority="urgent")  # type: ignore[arg-type]
tasks.task("email")  # type: ignore[arg-type]
tasks.task(retry=5)  # type: ignore[arg-type]
Retry(attempts="5")  # type: ignore[arg-type]
assert_type(Unique(key="user", until=timedelta(hours=1)).until, Literal["start", "end"] | float)
Unique(key=("user", "sale"), until="start", when="postpone", at_most=60)
Unique(key=lambda user, *, sale: [user, sale.id], until=3600.0)
Unique(key=5)  # type: ignore[arg-type]
Unique(when="later")  # type: ignore[arg-type]
Unique("user")  # type: ignore[call-arg]
assert_type(Retry().attempts, int)
assert_type(Retry(delays=(1, timedelta(minutes=5))).delays, tuple[float, ...])
Retry(on=OSError, never=(ValueError, BaseExceptionGroup), backoff=timedelta(seconds=2), snoozes=5)
Retry(on=OSError())  # type: ignore[arg-type]
Retry(on=(int,))  # type: ignore[arg-type]
Retry(delays=5)  # type: ignore[arg-type]
assert_type(GiveUp("gone").reason, str)
assert_type(RetryAfter(timedelta(minutes=1), "busy").seconds, float)
assert_type(Snooze(60).seconds, float)
RetryAfter()  # type: ignore[call-arg]
Snooze("60")  # type: ignore[arg-type]


@tasks.on_enqueue
def add_header(call: Call[Any]) -> Call[Any]:
    return call.options(headers={"request": "r-17"})


assert_type(add_header(mail.call("17", 97)), Call[Any])
tasks.on_enqueue(len)  # type: ignore[type-var]
tasks.get(5)  # type: ignore[arg-type]

# Calls: the arguments are those of the function.

assert_type(mail.call("17", 97, buyer="27"), Call[str])
assert_type(resize.call("a.png", 1, 2, 3), Call[int])
assert_type(nothing.call(), Call[None])

mail.call("17")  # type: ignore[call-arg]
mail.call("17", "97")  # type: ignore[arg-type]
mail.call("17", 97, "27")  # type: ignore[call-arg]
mail.call("17", 97, seller="18")  # type: ignore[misc]
mail.call("17", 97, colour="red")  # type: ignore[call-arg]
resize.call("a.png", "1")  # type: ignore[arg-type]
nothing.call(1)  # type: ignore[call-arg]

# Options: of every call, with the type of the call kept.

assert_type(mail.call("17", 97).options(delay=60.0), Call[str])
mail.call("17", 97).options(delay=timedelta(minutes=1), priority="low", task_id="sold-42")
mail.call("17", 97).options(at=datetime.now(UTC))
mail.call("17", 97).options(at=1_763_718_000, task_id=None, delay=None, priority=None)

mail.call("17", 97).options(queue="other", timeout=timedelta(seconds=5), headers={"a": "b"})
mail.call("17", 97).options(retry=Retry(attempts=1), queue=None, timeout=None, headers=None)
mail.call("17", 97).options(unique=Unique())
mail.call("17", 97).options(unique=False)
mail.call("17", 97).options(unique=True)  # type: ignore[arg-type]
mail.call("17", 97).options(headers={"a": 1})  # type: ignore[dict-item]
mail.call("17", 97).options(retry=3)  # type: ignore[arg-type]
mail.call("17", 97).options(delay="60")  # type: ignore[arg-type]
mail.call("17", 97).options(at="tomorrow")  # type: ignore[arg-type]
mail.call("17", 97).options(priority="urgent")  # type: ignore[arg-type]
mail.call("17", 97).options(task_id=42)  # type: ignore[arg-type]
mail.call("17", 97).options(dely=60.0)  # type: ignore[call-arg]
mail.call("17", 97).options(60.0)  # type: ignore[call-arg]
mail.call("17", 97).task_id = "other"  # type: ignore[misc]


def opening(hf: Holdfast, folder: Path) -> None:
    """Make a client from a redis-py client, from a URL, or with its own server."""
    assert_type(Holdfast(redis.Redis(), namespace="shop"), Holdfast)
    assert_type(Holdfast(redis.asyncio.Redis()), Holdfast)
    assert_type(Holdfast(redis.RedisCluster(host="localhost")), Holdfast)
    assert_type(Holdfast.from_url("redis://localhost", namespace="shop"), Holdfast)
    assert_type(Holdfast.embedded(), Holdfast)
    assert_type(Holdfast.embedded(folder), Holdfast)
    assert_type(Holdfast.embedded("data", namespace="shop"), Holdfast)
    with Holdfast.embedded() as mine:
        assert_type(mine, Holdfast)
    assert_type(hf.namespace, str)
    hf.close()

    Holdfast("redis://localhost")  # type: ignore[arg-type]
    Holdfast(redis.Redis(), "shop")  # type: ignore[call-arg]
    Holdfast.from_url(redis.Redis())  # type: ignore[arg-type]
    Holdfast(redis.Redis(), durability=Replicated(2, timeout=timedelta(seconds=1)))
    Holdfast.embedded("data/", durability=Fsynced(timeout=0.5))
    Holdfast(redis.Redis(), durability="replicated")  # type: ignore[arg-type]
    Replicated(1, 1.0)  # type: ignore[call-arg]


def blocking(hf: Holdfast) -> None:
    """Call `Holdfast`: nothing is awaited."""
    assert_type(hf.enqueue(mail.call("17", 97)), TaskHandle[str])
    assert_type(hf.enqueue(resize.call("a.png"), op_id="resize-a"), TaskHandle[int])
    assert_type(hf.enqueue_many([mail.call("17", 97)]), list[TaskHandle[str]])
    assert_type(hf.enqueue_many(mail.call(str(n), n) for n in range(9)), list[TaskHandle[str]])
    handle = hf.enqueue(nothing.call())
    assert_type(handle, TaskHandle[None])
    assert_type(handle.task_id, str)
    assert_type(handle.queue, str)

    queue = hf.queue("email")
    assert_type(queue, Queue)
    assert_type(queue.name, str)
    assert_type(hf.queues(), list[str])
    assert_type(hf.locks(), dict[str, LockState])
    assert_type(hf.semaphores(), dict[str, SemaphoreState])
    assert_type(queue.stats(), QueueStats)
    assert_type(queue.throughput(5), list[Throughput])
    assert_type(queue.stats().ready, int)
    assert_type(queue.dead(limit=10), list[TaskStatus])
    assert_type(queue.replay(), int)
    assert_type(queue.replay(["a", "b"], op_id="again"), int)
    for dead in queue.dead():
        assert_type(dead.reason, str)
        assert_type(dead.ended_at, datetime | None)

    weights: Mapping[str, int] = {"email": 3}
    worker = hf.worker(tasks, queues=weights, concurrency=9, lease=30, grace=timedelta(seconds=9))
    assert_type(worker, Worker)
    assert_type(worker.name, str)
    worker.run(until_idle=True)
    worker.stop()

    hf.enqueue(mail)  # type: ignore[arg-type]
    hf.enqueue("mail")  # type: ignore[arg-type]
    hf.enqueue(mail.call("17", 97), "op")  # type: ignore[call-arg]
    hf.enqueue_many(mail.call("17", 97))  # type: ignore[arg-type]
    hf.queue(5)  # type: ignore[arg-type]
    hf.worker(tasks, cpu_processes=4, group="web")
    assert_type(worker.serving, bool)
    assert_type(worker.tasks_ended, int)
    assert_type(worker.memory, int | None)
    hf.worker(tasks, cpu_processes="4")  # type: ignore[arg-type]
    hf.worker([mail])  # type: ignore[arg-type]
    hf.worker(tasks, queues=["email"])  # type: ignore[arg-type]
    hf.worker(tasks, lease="30 s")  # type: ignore[arg-type]
    queue.dead(limit="10")  # type: ignore[arg-type]
    queue.stats().ready = 5  # type: ignore[misc]
    handle.task_id = "other"  # type: ignore[misc]


def operating(hf: Holdfast, queue: Queue) -> None:
    """Read and change tasks and queues."""
    sold = hf.enqueue(mail.call("17", 97).options(expires=60.0))
    assert_type(sold.status(), TaskStatus)
    assert_type(sold.status().attempts, int)
    assert_type(sold.result(timeout=5), str)
    assert_type(sold.cancel(), bool)
    assert_type(queue.handle("a").status(), TaskStatus)
    assert_type(queue.tasks("delayed", limit=3), list[TaskStatus])
    assert_type(queue.purge(dead=True), int)
    assert_type(queue.stats().capacity, int | None)
    assert_type(hf.queue("email", capacity=5), Queue)
    queue.pause()
    queue.resume()
    queue.redefine(capacity=None)
    queue.tasks("gone")  # type: ignore[arg-type]
    queue.redefine(8)  # type: ignore[call-arg]


def locking(hf: Holdfast) -> None:
    """Locks, semaphores, leases, fences."""
    lock = hf.lock("item", lease=timedelta(seconds=10), auto_renew=False, max_hold=60)
    assert_type(lock, Lock)
    with lock.hold(timeout=5) as lease:
        assert_type(lease, Lease)
        assert_type(lease.fence, int)
        assert_type(lease.holder, str)
        assert_type(lease.remaining, float)
        assert_type(lease.lost, bool)
        assert_type(lease.wait_lost(0.1), bool)
        lease.on_lost(lambda: None)
        lease.renew()
    assert_type(lock.acquire(timeout=None), Lease)
    assert_type(lock.try_acquire(), Lease | None)
    with lock.acquire() as mine:
        assert_type(mine, Lease)
    assert_type(lock.inspect(), LockState)
    assert_type(lock.inspect().holder, str | None)
    assert_type(lock.inspect().waiters, tuple[str, ...])
    semaphore = hf.semaphore("api", limit=5)
    assert_type(semaphore, Semaphore)
    assert_type(semaphore.inspect(), SemaphoreState)
    assert_type(semaphore.inspect().holders, tuple[Holder, ...])
    semaphore.redefine(limit=8, op_id="again")
    assert_type(hf.lock_all(["a", "b"]), LockAll)
    with hf.lock_all({"a", "b"}).hold(timeout=5) as leases:
        assert_type(leases, dict[str, Lease])
    assert_type(hf.fenced("stock"), Fenced)
    hf.fenced("stock").set({"left": 3}, lease.fence)
    assert_type(hf.fenced("stock").get(), Any)

    hf.lock("item", 10)  # type: ignore[call-arg]
    hf.lock("item", timeout=5.0)  # type: ignore[arg-type]
    hf.lock("item").release()  # type: ignore[attr-defined]
    with hf.lock("item"):  # type: ignore[attr-defined]
        pass
    hf.lock("item", limit=2)  # type: ignore[arg-type]
    hf.semaphore("api", limit="5")  # type: ignore[arg-type]
    lock.acquire(5)  # type: ignore[call-arg]
    lock.redefine(limit=2)  # type: ignore[attr-defined]
    semaphore.redefine(8)  # type: ignore[call-arg]


def shared_locking(hf: Holdfast) -> None:
    """Reader-writer locks and singletons."""
    rw_lock = hf.rw_lock("index", lease=30)
    assert_type(rw_lock, RwLock)
    with rw_lock.read() as reading, rw_lock.write(timeout=1.0) as writing:
        assert_type(reading, Lease)
        assert_type(writing.fence, int)
    assert_type(rw_lock.acquire_read(), Lease)
    assert_type(rw_lock.try_write(), Lease | None)
    assert_type(rw_lock.inspect(), RwLockState)
    assert_type(hf.rw_locks(), dict[str, RwLockState])
    assert_type(hf.singleton("reports"), Singleton)
    assert_type(hf.singleton("reports").run(lambda lease: lease.fence), int)


async def locking_asynchronously(hf: AsyncHoldfast) -> None:
    """Await each method that asks the server."""
    async with hf.lock("item").hold(timeout=5) as lease:
        assert_type(lease, AsyncLease)
        assert_type(lease.lost, bool)
        assert_type(await lease.wait_lost(0.1), bool)
        await lease.renew()
    assert_type(hf.lock("item"), AsyncLock)
    assert_type(await hf.lock("item").try_acquire(), AsyncLease | None)
    assert_type(await hf.lock("item").inspect(), LockState)
    assert_type(hf.semaphore("api"), AsyncSemaphore)
    async with hf.lock_all(["a"]).hold() as leases:
        assert_type(leases, dict[str, AsyncLease])
    assert_type(hf.fenced("stock"), AsyncFenced)
    await hf.fenced("stock").set(1, lease.fence)
    async with await hf.semaphore("api").acquire() as mine:
        assert_type(mine, AsyncLease)
    lease.release()  # type: ignore[unused-coroutine]


async def asynchronous(hf: AsyncHoldfast) -> None:
    """Call `AsyncHoldfast`: methods with I/O are awaited, others are not."""
    assert_type(AsyncHoldfast(redis.asyncio.Redis(), namespace="shop"), AsyncHoldfast)
    assert_type(AsyncHoldfast(redis.Redis()), AsyncHoldfast)
    assert_type(AsyncHoldfast(redis.asyncio.RedisCluster(host="localhost")), AsyncHoldfast)
    assert_type(AsyncHoldfast.from_url("redis://localhost"), AsyncHoldfast)
    async with AsyncHoldfast.from_url("redis://localhost") as mine:
        assert_type(mine, AsyncHoldfast)

    assert_type(await hf.enqueue(mail.call("17", 97)), AsyncTaskHandle[str])
    assert_type(await hf.enqueue_many([resize.call("a.png")]), list[AsyncTaskHandle[int]])
    queue = hf.queue("email")
    assert_type(queue, AsyncQueue)
    assert_type(await hf.queues(), list[str])
    assert_type(await hf.locks(), dict[str, LockState])
    assert_type(await hf.semaphores(), dict[str, SemaphoreState])
    assert_type(await queue.stats(), QueueStats)
    assert_type(await queue.throughput(), list[Throughput])
    assert_type(await queue.dead(), list[TaskStatus])
    assert_type(await queue.replay(), int)
    assert_type(await (await hf.enqueue(mail.call("17", 97))).result(), str)
    worker = hf.worker(tasks)
    assert_type(worker, AsyncWorker)
    assert_type(worker.name, str)
    await worker.run(until_idle=True)
    worker.stop()
    await hf.close()

    assert hf.enqueue(mail.call("17", 97)).task_id  # type: ignore[attr-defined]
    await hf.queue("email")  # type: ignore[misc]
    hf.enqueue(mail.call("17", 97))  # type: ignore[unused-coroutine]
    worker.run()  # type: ignore[unused-coroutine]


def messages(hf: Holdfast) -> None:
    """Mailboxes, chats, inboxes."""
    box = hf.mailbox("jack451", capacity=10_000, overflow="drop_oldest")
    assert_type(box, Mailbox)
    assert_type(box.send({"text": "hi"}, sender="jill"), int)
    batch = box.fetch(limit=100, timeout=timedelta(seconds=20))
    assert_type(batch, Batch)
    assert_type(batch.messages, tuple[Message | Undecodable, ...])
    assert_type(batch.gap, Gap | None)
    for message in batch.messages:
        if isinstance(message, Message):
            assert_type(message.sent_at, datetime)
        else:
            assert_type(message.reason, str)
    box.ack(batch)
    box.ack(7)
    assert_type(box.latest(10), list[Message | Undecodable])
    assert_type(box.status(), MailboxStatus)
    assert_type(box.status().oldest_at, datetime | None)
    assert_type(hf.mailboxes(), list[str])

    chat = hf.create_chat(["a", "b"], sender="a", body=b"\x89PNG", keep="until_read")
    assert_type(chat, Chat)
    assert_type(hf.chat("827").send("hi", sender="a", op_id="mine"), int)
    assert_type(chat.join("c", start=7), bool)
    assert_type(chat.leave("c"), bool)
    assert_type(chat.members(), Mapping[str, int])
    assert_type(chat.history(before=50, limit=50), list[Message | Undecodable])
    assert_type(chat.read_by(7), list[str])
    assert_type(chat.status(), ChatStatus)
    assert_type(chat.status().behind, tuple[Reader, ...])
    assert_type(hf.chats(), list[str])
    inbox = hf.inbox("b")
    assert_type(inbox, Inbox)
    assert_type(inbox.fetch(timeout=None), InboxBatches)
    assert_type(inbox.unread(), InboxUnread)
    assert_type(inbox.chats(), InboxChatIds)
    assert_type(inbox.size(), int)

    hf.mailbox("jack451", overflow="explode")  # type: ignore[arg-type]
    box.send("hi")  # type: ignore[call-arg]
    box.fetch(100)  # type: ignore[call-arg]
    inbox.ack(7)  # type: ignore[arg-type]
    chat.join("c", start="then")  # type: ignore[arg-type]
    hf.create_chat(["a"], sender="a", body=1, keep="all")  # type: ignore[arg-type]
    batch.upto = 7  # type: ignore[misc]


async def messages_of_the_other_half(hf: AsyncHoldfast) -> None:
    """Use the same methods, awaited."""
    assert_type(hf.mailbox("jack451"), AsyncMailbox)
    assert_type(await hf.mailbox("jack451").fetch(), Batch)
    assert_type(await hf.create_chat(["a"], sender="a", body=1), AsyncChat)
    assert_type(hf.inbox("a"), AsyncInbox)
    assert_type(await hf.inbox("a").fetch(), InboxBatches)


def feeding(hf: Holdfast) -> None:
    """Files, and what is read of them."""
    feed = hf.file_feed("logs", consumers=["geo-1"], budget=2**30, mode="broadcast", lease=30.0)
    assert_type(feed, FileFeed)
    assert_type(feed.publish("a.log", timeout=1.0, compress=None), PublishedFile)
    assert_type(feed.publish_dir("days"), PublishedFolder)
    assert_type(feed.status(), FeedStatus)
    assert_type(feed.consumer("geo-1"), Consumer)
    for file in feed.consumer("geo-1").files(timeout=1.0):
        with file as same:
            assert_type(same, FeedFile)
            assert_type(list(file.lines()), list[bytes])
            assert_type(list(file.blocks(start=7)), list[Block])
            assert_type(file.size, int | None)
            assert_type(file.save_to("folder"), Path)


async def feeding_the_other_half(hf: AsyncHoldfast) -> None:
    """Use the same methods, awaited."""
    feed = hf.file_feed("logs", mode="share")
    assert_type(feed, AsyncFileFeed)
    assert_type(await feed.publish("a.log"), PublishedFile)
    async for file in feed.consumer("geo-1").files():
        async with file as same:
            assert_type(same, AsyncFeedFile)
            assert_type([line async for line in file.lines()], list[bytes])


def failing(hf: Holdfast) -> None:
    """Errors keep their fields."""
    try:
        hf.enqueue(mail.call("17", 97))
    except ServerRefused as error:
        assert_type(error.reason, str)
    except ServerUnavailable as error:
        assert_type(error.action, str)
    except OutcomeUnknown as error:
        assert_type(error.op_id, str | None)
        hf.enqueue(mail.call("17", 97), op_id=error.op_id)
        error.repeat()
    except LockTimeout as late:
        assert_type(late.waited, float)
        assert_type(late.holder, str)
    except LeaseLost as lost:
        assert_type(lost.lost_at, datetime | None)
        assert_type(lost.taken_by, str | None)
    except QueueAtCapacity as full:
        assert_type(full.capacity, int)
    except TaskExists as held:
        assert_type(held.task_id, str)
    except MailboxFull as crowded:
        assert_type(crowded.oldest_at, datetime | None)
    except HoldfastError:
        raise


def running() -> None:
    """Read the properties of the running task."""
    assert_type(current_task(), RunningTask)
    assert_type(current_task().attempt, int)
    assert_type(current_task().headers, Mapping[str, str])
    assert_type(current_task().snoozes, int)
    assert_type(current_task().enqueued_at, datetime | None)
    assert_type(acl_rule("shop"), str)


async def looking(hf: Holdfast, async_hf: AsyncHoldfast) -> None:
    """Workers and servers, in both halves."""
    assert_type(hf.workers(), list[WorkerStatus])
    assert_type(hf.workers()[0].queues, Mapping[str, int])
    assert_type(hf.workers()[0].group, str)
    [server] = await async_hf.servers()
    assert_type(server, ServerFacts)
    assert_type(server.replicas, tuple[Replica, ...])
    assert_type(server.slow, tuple[SlowCommand, ...] | None)
    assert_type(hf.topology, Literal["standalone", "sentinel", "cluster"])


async def cached_functions(hf: Holdfast, async_hf: AsyncHoldfast) -> None:
    """Cached functions have the types of the functions."""
    caches = CacheRegistry()

    @async_hf.cached(ttl=60.0, tags=lambda user_id: [f"user:{user_id}"], refresh=45)
    async def name(user_id: int, *, upper: bool = False) -> str:
        return f"{user_id}"

    @hf.cached(ttl=lambda value: 60.0 if value else 5.0, error_ttl={KeyError: timedelta(5)})
    def age(user_id: int) -> int | None:
        return user_id

    @caches.cached(ttl=60.0)
    async def length(text: str) -> int:
        return len(text)

    @caches.cached(ttl=60.0)
    def width(text: str) -> int:
        return len(text)

    class Shop:
        @caches.cached(ttl=60.0, ignore=["self"])
        async def price(self, item: str) -> float:
            return len(item)

    assert_type(await name(7, upper=True), str)
    assert_type(age(7), int | None)
    assert_type(await length("a"), int)
    assert_type(width("a"), int)
    assert_type(await Shop().price("tea"), float)
    assert_type(await Shop().price.peek("tea"), CachedValue[float] | None)
    assert_type(await name.many([7, 8]), list[str])
    assert_type(await name.peek(7), CachedValue[str] | None)
    assert_type(await name.invalidate(7, upper=True), bool)
    assert_type(age.key(7), str)
    assert_type(age.status(), CachedFunctionStatus | None)
    assert_type(await async_hf.cached_functions(), dict[str, CachedFunctionStatus])
    await name.put("jill", 7)
    await hf_takes(name)
    caches.bind(hf, async_hf)
    with caches.using(hf):
        pass
    age("seven")  # type: ignore[arg-type]
    age.invalidate()  # type: ignore[call-arg]
    await name.put(7, 7)  # type: ignore[arg-type]
    await Shop().price(7)  # type: ignore[arg-type]
    hf.cached(ttl=60.0, tagz=[])  # type: ignore[call-arg]
    hf.cached(ttl="60")  # type: ignore[arg-type]


async def hf_takes(function: Callable[[int], Awaitable[str]]) -> None:
    """Take any function of this signature."""


async def cached_rows(hf: Holdfast, async_hf: AsyncHoldfast, table: Any) -> None:
    """Row caches, in both halves."""
    cache = hf.row_cache("stock", source=SqlRows(table, table, key="id"), shards=4)
    assert_type(cache, RowCache)
    assert_type(cache.get(1, max_age=1.0), CachedRow)
    assert_type(
        cache.get_many([1, "a", ("eu", 7)]), dict[int | str | tuple[int | str, ...], CachedRow]
    )
    cache.schedule(1, every=timedelta(seconds=5))
    cache.schedule(1.5, every=5)  # type: ignore[arg-type]
    assert_type(cache.refresh_due(), RefreshReport)
    assert_type(cache.explain(1), RowExplanation)
    assert_type(cache.status(), RowCacheStatus)
    assert_type(cache.invalidate_on_commit(table), CommitHook)
    assert_type(async_hf.row_cache("stock"), AsyncRowCache)
    assert_type(await async_hf.row_cache("stock").get(("eu", 7)), CachedRow)
    try:
        cache.get(1)
    except LoadFailed as failed:
        assert_type(failed.cache, str)


async def tallies(hf: Holdfast, later: AsyncHoldfast) -> None:
    """Counts, from feeds and local files alike."""
    geo = GeoTable.from_mmdb(Path("x.mmdb"))
    assert_type(geo.lookup("1.2.3.4"), GeoLocation | None)
    tally = hf.tally("daily")
    assert_type(tally.aggregate(hf.file_feed("f").consumer("c"), key=GeoKey(geo)), TallyReport)
    tally.aggregate(LocalFiles("logs"), key=lambda line: Counted("2011-10-10", {"a": str(line)}))
    assert_type(tally.top("country", day="2011-10-10"), list[Count])
    assert_type(tally.compare("2011-10-10", "2011-10-11", dimension="country"), list[Change])
    assert_type(tally.rejected().samples, list[bytes])
    tally.aggregate(hf.file_feed("f"), key=GeoKey(geo))  # type: ignore[arg-type]
    report = await later.tally("daily").aggregate(AsyncLocalFiles(["a", "b"]), key=GeoKey(geo))
    assert_type(report, TallyReport)
    feed = later.file_feed("f").consumer("c")
    await later.tally("daily").aggregate(feed, key=lambda line: None)


def names() -> None:
    """Names are loaded when they are used; a checker knows all the same which there are."""
    assert_type(holdfast.Lease, type[Lease])
    print(holdfast.Lokc)  # type: ignore[attr-defined]


class Reporter:
    """A middleware of the application, for both kinds of tasks."""

    async def around_async(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await call_next()

    def around_plain(self, task: RunningTask, call_next: Callable[[], Any]) -> Any:
        return call_next()


async def around_async(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    assert_type(task.args, tuple[Any, ...])
    assert_type(task.state, Mapping[str, Any])
    return await call_next()


def around_plain(task: RunningTask, call_next: Callable[[], Any]) -> Any:
    return call_next()


@asynccontextmanager
async def lifespan(worker: WorkerInfo) -> AsyncIterator[dict[str, int]]:
    assert_type(worker.queues, Mapping[str, int])
    yield {"pool": 1}


@contextmanager
def plain_lifespan(worker: WorkerInfo) -> Iterator[None]:
    yield


def wrong_lifespan(worker: str) -> None: ...


def registries() -> None:
    wrapped = TaskRegistry(
        lifespan=lifespan,
        middleware=[Middleware(around_async, around_plain), Reporter(), around_async, around_plain],
    )
    assert_type(wrapped.with_lifespan(plain_lifespan), TaskRegistry)
    TaskRegistry(lifespan=wrong_lifespan)  # type: ignore[arg-type]
    TaskRegistry(middleware=[3])  # type: ignore[list-item]
    Middleware(around_async=around_plain, around_plain=None)


async def histories(queue: Queue, queues: AsyncQueue) -> None:
    [ended] = queue.history(10, outcome="dead", name="send", search="full", before=7)
    assert_type(ended, EndedTask)
    assert_type(ended.duration, float | None)
    assert_type(await queues.history(), list[EndedTask])
    queue.redefine(history=10)
    queue.redefine(capacity=None, history=0)
    queue.redefine(capacity="many")  # type: ignore[arg-type]


class Reservation:
    """What a step returns."""


async def reserve(item: str) -> Reservation:
    raise NotImplementedError


async def steps_of_tasks(handle: AsyncTaskHandle[str]) -> None:
    task = current_task()
    assert_type(await task.step("reserve", reserve, "book"), Reservation)
    await task.step("reserve", reserve, 7)  # type: ignore[call-overload]
    plain: Reservation = task.step("plain", Reservation)
    del plain
    await task.sleep(days=3)
    task.sleep(timedelta(days=3), name="pause")
    await task.wait_for("approved", timeout=timedelta(days=1))
    assert_type(task.step_id, str)
    await handle.signal("approved", {"by": "ann"})
    assert_type(await handle.steps(), TaskSteps)
    assert_type([step.name for step in await handle.steps()], list[str])
