"""Fake Game's guild: names of mates as one types them, and mail that goes only to members.

    python guild.py                        # a small guild, on a Valkey of its own
    python guild.py redis://localhost      # on yours
    holdfast demo traffic                  # many players at once

After a player has joined, a search finds the player by the beginning of the name, and of each
later word of it. A search writes nothing, so it costs as little as any other read. Players
that one wrote to lately come first the next time: the last hundred are kept for each player.
"""

import secrets
import sys
from dataclasses import dataclass

from holdfast import Completions, Holdfast
from holdfast.server import EmbeddedServer

SHOWN = 10
"""Number of names that are shown below the input field."""


class NoSuchMate(Exception):
    """The recipient is not a member; nothing was sent."""

    def __init__(self, guild: str, name: str) -> None:
        super().__init__(f"{name} is no member of guild {guild}")


@dataclass(frozen=True, slots=True)
class Guild:
    """The guild called *name*.

    Members have one name each, of any script and language, as they write it themselves.
    """

    hf: Holdfast
    name: str

    def join(self, player: str) -> bool:
        """Have *player* found. False: the player is a member already."""
        return self._names.add(player)

    def leave(self, player: str) -> bool:
        """Have *player* found no more. False: the player was no member."""
        return self._names.remove(player) > 0

    def mates(self, typed: str) -> list[str]:
        """Return members with a name, or a later word of it, that begins with *typed*."""
        return [match.name for match in self._names.search(typed, limit=SHOWN)]

    def write(self, sender: str, to: str, text: str, *, op_id: str | None = None) -> int:
        """Put mail into the box of a member; returns its number there.

        Args:
            sender: the user who writes.
            to: the user who receives it.
            text: the text of the message.
            op_id: a call that is repeated with this id, because no answer came, writes once.

        Raises:
            NoSuchMate: *to* is none.
        """
        if not self._names.has(to):
            raise NoSuchMate(self.name, to)
        self.hf.recent(f"player:{sender}").touch(to)
        return self.hf.mailbox(to).send(
            {"guild": self.name, "text": text}, sender=sender, op_id=op_id
        )

    def suggestions(self, player: str, typed: str) -> list[str]:
        """Return matching players: those that *player* wrote to lately come first."""
        lately = self.hf.recent(f"player:{player}").match(typed)
        mates = [name for name in lately if self.has(name)]
        return list(dict.fromkeys([*mates, *self.mates(typed)]))[:SHOWN]

    def has(self, player: str) -> bool:
        """Return whether *player* is a member."""
        return self._names.has(player)

    @property
    def _names(self) -> Completions:
        return self.hf.completions(f"guild:{self.name}")


def main(url: str) -> None:
    """Let some players join and one leave, and send mail to the others."""
    with Holdfast.from_url(url, namespace=f"fakegame-{secrets.token_hex(4)}") as hf:
        guild = Guild(hf, "3")
        for player in ("jeff", "jenny", "jack", "jennifer", "张三", "张伟", "Carla Santos"):
            guild.join(player)
        for typed in ("je", "张", "san"):
            print(f"{typed}: {', '.join(guild.mates(typed))}")
        guild.write("jack", "jenny", "raid at eight")
        print(f"je, for jack: {', '.join(guild.suggestions('jack', 'je'))}")
        guild.leave("jeff")
        try:
            guild.write("jack", "jeff", "raid at eight")
        except NoSuchMate as error:
            print(error)
        for player in guild.mates(""):  # on a server of yours nothing is left of it
            guild.leave(player)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with EmbeddedServer.open(None) as server:
            main(server.url)
