"""Fake Game's market mail: tells sellers what became of the things they offered.

    FAKEGAME_SMTP=localhost:1025 holdfast worker mail:tasks --queue email --url redis://localhost

A task that raises is tried again a little later, so a mail server that is slow, picky or away
delays a mail and loses none. Should a mail go out twice, because its worker died before it could
say so, both copies have the same Message-ID, the id of the task: mail programs show one of them.
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


@tasks.task(queue="email", retry=patiently)
def send_sold_email(email: str, seller: str, item: str, price: int, buyer: str) -> None:
    """Tell a seller who bought the item and for how much."""
    send(
        to=f"{seller} <{email}>",
        subject=f"Sold: {item}",
        text=f"Well done, {seller}!\n\n{buyer} bought your {item} for {price:,} gold.\n",
    )


@tasks.task(queue="email", priority="low", retry=patiently)
def send_expired_email(email: str, seller: str, item: str, price: int) -> None:
    """Tell a seller that nobody wanted the item; the good news of others go first."""
    send(
        to=f"{seller} <{email}>",
        subject=f"Not sold: {item}",
        text=f"Hello {seller},\n\nnobody bought your {item} for {price:,} gold.\n",
    )


def send(*, to: str, subject: str, text: str) -> None:
    """Hand one mail to the SMTP server; the X- headers say how long it took to get there."""
    task, now = current_task(), datetime.now(UTC)
    mail = EmailMessage()
    mail["Message-ID"] = f"<{task.task_id}@fakegame.example>"
    mail["Date"] = format_datetime(now)
    mail["From"] = "Fake Game Market <market@fakegame.example>"
    mail["To"] = to
    mail["Subject"] = subject
    mail["X-Attempt"] = str(task.attempt)
    mail["X-Enqueued-At"] = str(task.enqueued_at)
    mail["X-Started-At"] = str(now)
    mail.set_content(text)
    with smtplib.SMTP(MAIL_SERVER, local_hostname="fakegame.example", timeout=10.0) as server:
        server.send_message(mail)
