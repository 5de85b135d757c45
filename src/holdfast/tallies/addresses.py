"""Parse IP addresses strictly.

Short forms (`10.1`), leading zeros (some programs read them as octal), ports, brackets and zones
are errors. An IPv4 address in IPv6 form (`::ffff:1.2.3.4`, as dual-stack servers write it) is
returned as an IPv4 address.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_PRIVATE: Final = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    *("::/127", "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "fc00::/7", "fe80::/10", "ff00::/8"),
)
"""Networks in IANA's registries of special-purpose addresses that are not globally reachable."""


def parse_address(text: str) -> IPv4Address | IPv6Address:
    """Return the address in *text*.

    Raises:
        ValueError: *text* is not an address.
    """
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"{text!r} has a zone, which is valid on one machine only")
        return address.ipv4_mapped or address
    return address


def private_networks(version: int) -> list[tuple[int, int]]:
    """Return the networks of an IP *version* that are not globally reachable.

    Returns:
        Pairs (first address of the network, first address after it).
    """
    found = []
    for network in map(ip_network, _PRIVATE):
        if network.version == version:
            first = int(network.network_address)
            found.append((first, first + network.num_addresses))
    return found
