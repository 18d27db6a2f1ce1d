"""IP addresses and CIDR ranges as the API reads them, by the rules of Go's older parsers (reference KIND-34).

Numbers may have leading zeros, and are decimal nevertheless; there are no zones; an IPv4 address in IPv6 notation
is that IPv4 address; a range may be given by any address in it.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from orchtw.values.ports import port_number

NOT_AN_IP: Final = "must be a DNS name, not an IP address"
"""Error for a host name that is an address."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LEADING_ZEROS: Final = re.compile("(?<![0-9A-Fa-f])0+(?=[0-9A-Fa-f])")
_MAPPED_BITS: Final = 96  # of an IPv6 address before the IPv4 address that it may contain
_LONGEST: Final = 1024  # characters: a longer text could only be an address by its leading zeros


def parse_ip(text: str) -> Address | None:
    """Parse an IP address; None if `text` is not one."""
    if ":" not in text and not text[:1].isdigit():  # a host name, most likely
        return None
    if "%" in text or len(text) > _LONGEST:
        return None
    try:
        address = ip_address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def parse_cidr(text: str) -> Network | None:
    """Parse a range such as `10.9.8.0/24`; None if `text` is not one."""
    start, slash, length = text.partition("/")
    address = parse_ip(start)
    if address is None or not (slash and length.isascii() and length.isdecimal() and len(length) <= _LONGEST):
        return None
    bits = int(length)
    if isinstance(address, IPv4Address) and ":" in start:
        if bits < _MAPPED_BITS:
            address = IPv6Address(f"::ffff:{address}")
        else:
            bits -= _MAPPED_BITS
    return ip_network((address, bits), strict=False) if bits <= address.max_prefixlen else None


def ip(value: str) -> tuple[str, ...]:
    """Return why `value` is not an IP address."""
    return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",) if parse_ip(value) is None else ()


def within(inner: Network, outer: Network) -> bool:
    """Report whether the first address of `inner` lies in `outer`, which is of the same family."""
    return inner.network_address in outer


def special(address: Address) -> str:
    """Return why an address cannot be that of an endpoint; empty if it can (reference KIND-34)."""
    if address.is_unspecified:
        return "may not be unspecified (0.0.0.0 or ::)"
    if address.is_loopback:
        return "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address in _LINK_LOCAL[address.version]:
        return "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    if _is_link_local_multicast(address):
        return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    return ""


_LINK_LOCAL: Final = {4: ip_network("169.254.0.0/16"), 6: ip_network("fe80::/10")}
_MULTICAST: Final = IPv4Network("224.0.0.0/24")
_LINK_SCOPE: Final = 2  # of a multicast address: the lower half of its second byte; the upper half is flags


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _MULTICAST
    return address.is_multicast and address.packed[1] & 0x0F == _LINK_SCOPE


def endpoint_ip(value: str) -> tuple[str, ...]:
    """Return why `value` cannot be the address of an endpoint."""
    address = parse_ip(value)
    if address is None:
        return ip(value)
    why = special(address)
    return (why,) if why else ()


def socket_address(value: str) -> tuple[str, ...]:
    """Return why `value` is not an address and port, such as `10.9.8.7:80` or `[2001:db8::1]:80`."""
    found = _SOCKET.fullmatch(value)
    if found is None:
        return ("must be a valid socket address format, (e.g. 0.0.0.0:10254 or [::]:10254)",)
    digits = found["port"].removeprefix("+")
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST else 0
    return (*port_number(number), *ip(found["six"] or found["host"] or ""))


_SOCKET: Final = re.compile(r"(?:\[(?P<six>[^][]*)]|(?P<host>[^][:]*)):(?P<port>[^][:]*)", re.DOTALL)
