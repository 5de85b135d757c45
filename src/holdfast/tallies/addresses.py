"""Addresses, taken strictly: what is not exactly one is none.

No short forms (`10.1`), no leading zeros (which some read as octal), no port, bracket or zone. An
IPv4 address that a dual-stack server wrote as IPv6 (`::ffff:1.2.3.4`) is that IPv4 address.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_SPECIAL: Final = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    *("::/127", "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "fc00::/7", "fe80::/10", "ff00::/8"),
)
"""Of IANA's registries of special-purpose addresses, those that are not reachable globally."""


def parsed(text: str) -> IPv4Address | IPv6Address:
    """The address that *text* is.

    Raises:
        ValueError: it is none.
    """
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"{text!r} has a zone: it means something to one machine only")
        return address.ipv4_mapped or address
    return address


def special(version: int) -> list[tuple[int, int]]:
    """First addresses of the networks that cannot be reached from outside, and of what follows."""
    found = []
    for network in map(ip_network, _SPECIAL):
        if network.version == version:
            first = int(network.network_address)
            found.append((first, first + network.num_addresses))
    return found
