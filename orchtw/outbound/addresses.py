"""Addresses that requests may be passed on to (reference PROXY-13)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


def is_public_unicast(address: str) -> bool:
    """Report whether an IP address can be that of a pod or node: not loopback, link-local or multicast.

    Other texts are not addresses.
    """
    try:
        found: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            return False
        found = found.ipv4_mapped or found
    ours = found.is_loopback or found.is_unspecified or found.is_link_local
    return not (ours or found.is_multicast or found == _BROADCAST)


def is_address(host: str) -> bool:
    """Report whether `host` is an IP address and needs no resolving."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_within(address: str, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    """Report whether a valid IP address lies in one of the networks."""
    found = ipaddress.ip_address(address)
    return any(found in each for each in networks)
