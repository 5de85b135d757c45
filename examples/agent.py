"""An agent that answers a customer: a model drafts, a person approves, and a page shows the tokens.

    python examples/agent.py [URL]

The model here has two answers: put the client of yours into `model`. The worker is stopped while
the draft waits for a person, as in a deploy, and no draft is paid for twice. Without a URL it
starts a server of its own (extra `server`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from holdfast import AsyncHoldfast, AsyncTaskHandle, Gap, GiveUp, TaskRegistry, current_task

DAY_S = 86_400.0

tasks = TaskRegistry()
prompts: list[str] = []
"""What was asked of the model, which costs money."""

mails: list[str] = []


@dataclass
class Draft:
    text: str
    tokens: int


@dataclass
class Review:
    approved: bool
    remark: str = ""


async def model(prompt: str) -> AsyncIterator[str]:
    """Yield the tokens of an answer, as the client of a real model does."""
    prompts.append(prompt)
    answer = "We are sorry, and send you a new one."
    if "shorter" not in prompt:
        answer = f"Dear customer, thank you for your message of today. {answer}"
    for token in answer.split(" "):
        await asyncio.sleep(0.005)
        yield f"{token} "


async def ask(prompt: str) -> Draft:
    """Ask the model, and report each token, and the whole draft, to those who follow the task."""
    tokens = []
    async for token in model(prompt):
        tokens.append(token)
        current_task().emit({"token": token})
    draft = Draft("".join(tokens).strip(), len(tokens))
    current_task().emit({"draft": draft.text})
    return draft


async def send(text: str, key: str) -> str:
    """Send a mail. The mail service refuses a second one with the same key."""
    mails.append(text)
    return key


@tasks.task(queue="agents", timeout=300.0)
async def answer(question: str) -> str:
    """Draft an answer until a person approves it, and send it."""
    task = current_task()
    draft = await task.step("draft", ask, f"Answer this customer: {question}")
    for _ in range(3):
        review = Review(**await task.wait_for("review", timeout=3 * DAY_S))
        if review.approved:
            return await task.step("send", send, draft.text, f"{task.task_id}/send")
        draft = await task.step("draft", ask, f"{draft.text}\nMake it {review.remark}.")
    raise GiveUp("the reviewer was not satisfied")


async def follow(handle: AsyncTaskHandle[str]) -> None:
    """Show the tokens as they come. A page of a browser gets them from the gateway."""
    async for event in handle.events():
        if isinstance(event, Gap):
            print("[some tokens were dropped]")
        elif "token" in event.data:
            print(event.data["token"], end="", flush=True)
        else:
            print("\n--- to be approved:", event.data["draft"])


async def work(hf: AsyncHoldfast, handle: AsyncTaskHandle[str]) -> None:
    """Run a worker until the task waits for a person, or has ended."""
    worker = hf.worker(tasks)
    running = asyncio.create_task(worker.run())
    for _ in range(1000):
        if (await handle.status()).state in ("delayed", "done"):
            break
        await asyncio.sleep(0.05)
    worker.stop()
    await running


async def main(url: str) -> None:
    """Run the agent, its customer and its reviewer."""
    hf = AsyncHoldfast.from_url(url) if url else AsyncHoldfast.embedded()
    async with hf:
        handle = await hf.enqueue(answer.call("My lamp is broken."))
        page = asyncio.create_task(follow(handle))
        await work(hf, handle)  # it drafts, and the task is put away
        await handle.signal("review", {"approved": False, "remark": "shorter"})
        await work(hf, handle)  # another worker, days later
        await handle.signal("review", {"approved": True})
        await work(hf, handle)
        await page
    print(f"{len(prompts)} calls of the model, {len(mails)} mail: {mails[0]}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
