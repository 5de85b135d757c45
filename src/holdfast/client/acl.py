"""The least that a user of the server needs for one namespace."""

from __future__ import annotations

from ..core.names import Namespace


def acl_rule(namespace: str = "holdfast") -> str:
    """The rule for `ACL SETUSER` that lets a user do all Holdfast does in *namespace*, no more.

        ACL SETUSER app on >password <rule>

    Keys and channels outside the namespace stay closed, and so does everything that administers the
    server. What stays open is that `SCAN` shows the names of other keys, though not their content.
    """
    prefix = Namespace.of(namespace).prefix
    return (
        f"resetkeys ~{prefix}* resetchannels &{prefix}* "
        "-@all +@read +@write +@connection +@scripting +@pubsub -@dangerous -@admin "
        "-script|flush -script|kill -function -randomkey +time +cluster|slots +info"
    )
