"""Random but repeatable trouble for processes and servers: `Nemesis`."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from faults import evidence


class Victim(Protocol):
    """What the actions need; `Process` and `Server` have it."""

    name: str

    @property
    def is_running(self) -> bool:
        """Return whether it can be hit."""
        ...

    def start(self) -> None:
        """Start it; does nothing while it runs."""
        ...

    def kill(self) -> None:
        """End it by SIGKILL."""
        ...

    def pause(self) -> None:
        """Stop it in its tracks."""
        ...

    def resume(self) -> None:
        """Let it go on."""
        ...

    def stop(self) -> object:
        """End it in good order."""
        ...


Action = Callable[[Victim, float], None]


def kill(victim: Victim, seconds: float) -> None:
    """SIGKILL, and a new start `seconds` later."""
    victim.kill()
    time.sleep(seconds)
    victim.start()


def pause(victim: Victim, seconds: float) -> None:
    """SIGSTOP for `seconds`."""
    victim.pause()
    time.sleep(seconds)
    victim.resume()


def restart(victim: Victim, seconds: float) -> None:
    """Stop it in good order, and start it again `seconds` later."""
    victim.stop()
    time.sleep(seconds)
    victim.start()


@dataclass(frozen=True)
class Strike:
    """One thing that the nemesis did."""

    at_s: float  # since it began
    action: str
    victim: str
    seconds: float

    def __str__(self) -> str:
        return f"+{self.at_s:.3f} s {self.action} {self.victim} for {self.seconds:.3f} s"


class Nemesis:
    """A thread that strikes random victims at random moments; `with` limits it to the block.

    The seed decides the waits, the victims and the actions, so a seed repeats the schedule (but
    not what the victims make of it). A victim that has ended by itself is let off. At the end of
    the block every victim that was struck runs again.

    Args:
        seed: See the `seed` fixture.
        victims: The processes to strike.
        actions: What to do to them; any function of a victim and a number of seconds.
        every: Shortest and longest wait before a strike, in seconds.
        lasting: Shortest and longest duration of a strike, in seconds.

    Attributes:
        log: what it did.
        calm_ns: when its last strike was over, of `time.monotonic_ns`.
    """

    def __init__(
        self,
        seed: int,
        victims: Sequence[Victim],
        *,
        actions: Sequence[Action] = (kill, pause, restart),
        every: tuple[float, float] = (0.2, 1.0),
        lasting: tuple[float, float] = (0.05, 0.5),
    ) -> None:
        self.name = f"nemesis with seed {seed}"
        self.log: list[Strike] = []
        self.calm_ns = 0
        self._random = random.Random(seed)
        self._victims = list(victims)
        self._actions = list(actions)
        self._every = every
        self._lasting = lasting
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="nemesis", daemon=True)
        evidence.register(self)

    @property
    def is_running(self) -> bool:
        """Return whether it still acts."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Let the present strike end, and strike no more.

        Raises:
            Exception: A strike failed, for example a server did not come up again.
        """
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def report(self) -> str:
        """Return what it did, a line for each strike."""
        return "\n".join(map(str, self.log))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        began_s = time.monotonic()
        try:
            while True:
                wait_s = self._random.uniform(*self._every)
                victim = self._random.choice(self._victims)
                action = self._random.choice(self._actions)
                seconds = self._random.uniform(*self._lasting)
                if self._ended.wait(wait_s):
                    return
                if victim.is_running:
                    at_s = time.monotonic() - began_s
                    self.log.append(Strike(at_s, action.__name__, victim.name, seconds))
                    action(victim, seconds)
                    self.calm_ns = time.monotonic_ns()
        except BaseException as failure:  # noqa: BLE001 -- raised again by `stop`
            self._failure = failure
