# Generated from test_rotation_async.py by tools/unasync.py: edit that one, then `make sync`.
"""A password that changes while calls are made: redis-py asks its provider at each connection."""

import time

import pytest
from redis import Redis
from redis.credentials import CredentialProvider

from faults.servers import Server
from holdfast import ServerUnavailable
from holdfast.core.call._sync import Caller
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

    def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


def test_a_new_password_is_used_from_the_next_connection_on(fresh_server: Server) -> None:
    vault, unit = Vault(), Namespace.of("rotation").unit("counter", "hits")
    rule = ["on", "allkeys", "allchannels", "allcommands"]
    with Redis(port=fresh_server.port, credential_provider=vault) as client:
        caller = Caller(Settings.of(client))

    def increment() -> int:
        answer: int = caller.call(INCREMENT, unit, [unit.key("n")], [])
        return answer

    with pytest.raises(LookupError, match="sealed"):
        increment()
    fresh_server.execute("ACL", "SETUSER", "rotating", ">old", *rule)
    vault.password = "old"
    assert increment() == 1
    fresh_server.execute("ACL", "SETUSER", "rotating", "resetpass", ">new")
    assert increment() == 2
    fresh_server.execute("CLIENT", "KILL", "USER", "rotating")
    time.sleep(0.05)
    with pytest.raises(ServerUnavailable, match=r"(?i)password"):
        increment()
    vault.password = "new"
    assert increment() == 3
    caller.close()
