"""Fake Game's mail: what became of an offer, which sale has begun, how to get in again.

    FAKEGAME_SMTP=localhost:1025 holdfast worker mail:tasks --queue email --url redis://localhost

A task that raises is tried again a little later, so a mail server that is slow, picky or away
delays a mail and loses none. Should a mail go out twice, because its worker died before it could
say so, both copies have the same Message-ID, the id of the task: mail programs show one of them.

Who waits in front of a login form goes first, who sold nothing has time, and the mail about a sale
is enqueued when it is announced and goes out when it starts:

    hf.enqueue(send_sale_email.call(…).options(delay=starts_at - now))
"""

import os
import smtplib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from holdfast import Retry, TaskRegistry, current_task

MAIL_SERVER = os.environ.get("FAKEGAME_SMTP", "localhost:1025")

tasks = TaskRegistry()
patiently = Retry(attempts=8, backoff=0.5)  # for about a minute


@tasks.task(queue="email", priority="high", retry=patiently)
def send_reset_email(email: str, player: str, code: str) -> None:
    """Let a player who forgot the password in again."""
    send(
        to=f"{player} <{email}>",
        subject=f"{code} is your code for a new password",
        text=f"Hello {player},\n\nenter {code} within a quarter of an hour.\n",
    )


@tasks.task(queue="email", retry=patiently)
def send_sale_email(email: str, player: str, seller: str, item: str, price: int) -> None:
    """Notify a player that a followed seller's sale has begun; not before it has."""
    send(
        to=f"{player} <{email}>",
        subject=f"It begins: {seller} sells {item}",
        text=f"Hello {player},\n\n{seller} sells {item} for {price:,} gold, from now on.\n",
    )


@tasks.task(queue="email", retry=patiently)
def send_sold_email(email: str, seller: str, item: str, price: int, buyer: str) -> None:
    """Notify a seller who bought the item and for how much."""
    send(
        to=f"{seller} <{email}>",
        subject=f"Sold: {item}",
        text=f"Well done, {seller}!\n\n{buyer} bought your {item} for {price:,} gold.\n",
    )


@tasks.task(queue="email", priority="low", retry=patiently)
def send_expired_email(email: str, seller: str, item: str, price: int) -> None:
    """Notify a seller that an item was not sold; good news of others go first."""
    send(
        to=f"{seller} <{email}>",
        subject=f"Not sold: {item}",
        text=f"Hello {seller},\n\nnobody bought your {item} for {price:,} gold.\n",
    )


def send(*, to: str, subject: str, text: str) -> None:
    """Hand one mail to the SMTP server; the X- headers show its path through the queue."""
    task, now = current_task(), datetime.now(UTC)
    mail = EmailMessage()
    mail["Message-ID"] = f"<{task.task_id}@fakegame.example>"
    mail["Date"] = format_datetime(now)
    mail["From"] = "Fake Game Market <market@fakegame.example>"
    mail["To"] = to
    mail["Subject"] = subject
    mail["X-Attempt"] = str(task.attempt)
    mail["X-Token"] = str(task.token)
    mail["X-Enqueued-At"] = str(task.enqueued_at)
    mail["X-Started-At"] = str(now)
    mail.set_content(text)
    with smtplib.SMTP(MAIL_SERVER, local_hostname="fakegame.example", timeout=10.0) as server:
        server.send_message(mail)
