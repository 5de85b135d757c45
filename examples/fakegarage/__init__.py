"""Fake Garage: one-to-one messages and group chats among phones with unstable connections.

    python -m fakegarage        # from the folder `examples`: a short day, on a Valkey of its own
    holdfast demo chat          # the same on a live screen

`phone.py` is what an app would take from here. `day.py` makes up what happens, `phones.py` is a
process full of phones, `radio.py` their line to the server, `journal.py` what each has on disk.
`garage.py` runs the day, in `processes.py` that are killed, and keeps an `account.py` of each
phone; `check.py` finds out whether every phone has every message.
"""

from .account import Account
from .day import Day
from .garage import Garage
from .processes import PhonesFailed

__all__ = ["Account", "Day", "Garage", "PhonesFailed"]
