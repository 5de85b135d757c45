"""The service with Holdfast."""

from __future__ import annotations

from typing import Any

from holdfast import Holdfast, TaskRegistry

from ..load import PROFILES, SEATS, TTL_S, USERS, Service, take_part

NAMESPACE = "mixed"

tasks = TaskRegistry()


@tasks.task(queue="mail")
def send_mail(number: int) -> int:
    """Do nothing; the result is kept."""
    return number


def make(url: str) -> Service:
    """Return the answers to each kind of request."""
    hf = Holdfast.from_url(url, namespace=NAMESPACE)
    for user in range(USERS):
        members = [f"user-{user}", "sender"]
        hf.create_chat(members, sender="sender", body="hello", chat_id=f"chat-{user}")

    @hf.cached(ttl=TTL_S, name="profile")
    def profile(user_id: int) -> dict[str, Any]:
        return {"id": user_id, "name": f"user {user_id}"}

    def lock(number: int) -> None:
        with hf.lock(f"seat-{number % SEATS}").hold():
            pass

    def inbox(number: int) -> None:
        user = number % USERS
        hf.chat(f"chat-{user}").send("hello", sender="sender")
        box = hf.inbox(f"user-{user}")
        box.ack_all(box.fetch())

    return {
        "lock": lock,
        "cache": lambda number: profile(number % PROFILES),
        "counter": lambda _: hf.counter("requests").add(),
        "enqueue": lambda number: hf.enqueue(send_mail.call(number)),
        "inbox": inbox,
    }


def work(url: str) -> None:
    """Run tasks until killed."""
    Holdfast.from_url(url, namespace=NAMESPACE).worker(tasks).run()


if __name__ == "__main__":
    take_part(make, work)
