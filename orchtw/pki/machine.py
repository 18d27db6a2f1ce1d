"""Host name and interface addresses, for the certificate of a server that listens on all interfaces."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Final

from twisted.logger import Logger

from orchtw.config.hosts import is_dns_name

MOST_ADDRESSES: Final = 64
"""Maximum number of interface addresses in the certificate: IPVS nodes have thousands, sent in every handshake."""

_log = Logger()


def host_names() -> tuple[str, ...]:
    """Return the host name, or nothing if it is not a valid DNS name."""
    name = socket.gethostname()
    return (name,) if is_dns_name(name) else ()


def addresses() -> tuple[str, ...]:
    """Return the addresses of all interfaces in sorted order, at most MOST_ADDRESSES.

    Link-local addresses, which are only valid with a zone, are left out.
    """
    found = sorted(_reachable(), key=lambda each: (each.version, each))
    if len(found) > MOST_ADDRESSES:
        text = "the certificate is for {most} of the {count} addresses of this machine; add others with --tls-san"
        _log.warn(text, most=MOST_ADDRESSES, count=len(found))
    return tuple(map(str, found[:MOST_ADDRESSES]))


def _reachable() -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    import ifaddr  # late: a server on one address does without

    for adapter in ifaddr.get_adapters():
        for each in adapter.ips:
            address = ipaddress.ip_address(each.ip if isinstance(each.ip, str) else each.ip[0])
            if not address.is_link_local:
                yield address
