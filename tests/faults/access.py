"""How the programs of tests connect to a server: plainly, durably, or by a password: `opened`."""

from pathlib import Path
from typing import Any

import redis
import redis.asyncio

from holdfast import AsyncHoldfast, Fsynced, Holdfast, Replicated

DURABLY = {"replicated": Replicated(1), "fsynced": Fsynced()}


class CredentialsFile(redis.CredentialProvider):
    """The user and the password that a file has at the moment: two lines."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def get_credentials(self) -> tuple[str, str]:
        user, password = self._path.read_text().splitlines()
        return user, password

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


def opened(kind: type[Holdfast | AsyncHoldfast], url: str, namespace: str, access: str = "") -> Any:
    """Return a client.

    Args:
        kind: the class of the client.
        url: address of the server.
        namespace: namespace of the round.
        access: one of `DURABLY`, or the path of a file with user and password.
    """
    if not access or access in DURABLY:
        return kind.from_url(url, namespace=namespace, durability=DURABLY.get(access))
    library: Any = redis if kind is Holdfast else redis.asyncio
    client = library.Redis.from_url(url, credential_provider=CredentialsFile(access))
    return kind(client, namespace=namespace)
