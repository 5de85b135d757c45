"""A password that changes while calls are made: redis-py asks its provider at each connection."""

import time

import pytest
from redis.asyncio import Redis
from redis.credentials import CredentialProvider

from faults.servers import Server
from holdfast import ServerUnavailable
from holdfast.core.call._async import AsyncCaller
from holdfast.core.connections.settings import Settings
from holdfast.core.names import Namespace
from holdfast.core.script import Script

INCREMENT = Script.of("test/increment", "#!lua\nreturn redis.call('INCR', KEYS[1])")


class Vault(CredentialProvider):
    """Knows the password of now."""

    password = ""

    def get_credentials(self) -> tuple[str, str]:
        if not self.password:
            raise LookupError("the vault is sealed")
        return "rotating", self.password

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


async def test_a_new_password_is_used_from_the_next_connection_on(fresh_server: Server) -> None:
    vault, unit = Vault(), Namespace.of("rotation").unit("counter", "hits")
    rule = ["on", "allkeys", "allchannels", "allcommands"]
    async with Redis(port=fresh_server.port, credential_provider=vault) as client:
        caller = AsyncCaller(Settings.of(client))

    async def increment() -> int:
        answer: int = await caller.call(INCREMENT, unit, [unit.key("n")], [])
        return answer

    with pytest.raises(LookupError, match="sealed"):
        await increment()
    fresh_server.execute("ACL", "SETUSER", "rotating", ">old", *rule)
    vault.password = "old"
    assert await increment() == 1
    fresh_server.execute("ACL", "SETUSER", "rotating", "resetpass", ">new")
    assert await increment() == 2
    fresh_server.execute("CLIENT", "KILL", "USER", "rotating")
    time.sleep(0.05)  # noqa: ASYNC251 (the news arrives, and the loop has not seen it yet)
    with pytest.raises(ServerUnavailable, match=r"(?i)password"):
        await increment()
    vault.password = "new"
    assert await increment() == 3
    await caller.close()
