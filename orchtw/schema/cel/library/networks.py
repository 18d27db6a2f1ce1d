"""Library functions of IP addresses and networks: no zones, and no IPv4 addresses in the form of IPv6."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, ClassVar, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import Opaque

_LONGEST: Final = 64
_BITS: Final = re.compile(r"0|[1-9]\d{0,2}", re.ASCII)
_BROADCAST: Final = IPv4Address("255.255.255.255")
_LOCAL_MULTICAST: Final = ip_network("224.0.0.0/24")
_MULTICAST_SCOPE: Final = (0xFF0F, 0xFF02)
"""Mask of an IPv6 address's first 16 bits, and their value for link-local multicast."""


class Ip(Opaque, frozen=True):
    """Single IP address of either version."""

    type_name: ClassVar[str] = "net.IP"

    address: IPv4Address | IPv6Address


class Cidr(Opaque, frozen=True):
    """A network: an address, whose last bits need not be zero, and the number of bits that count."""

    type_name: ClassVar[str] = "net.CIDR"

    address: IPv4Address | IPv6Address
    bits: int


def _fault(text: str, function: str, why: str, what: str) -> Failure:
    return Failure(f'{what} parse error during conversion from string: {function}("{text[:_LONGEST]}"): {why}')


def _ip(text: str) -> Ip:
    """Return the address of a text. Raises Failure."""
    try:
        found = ip_address(text)
    except ValueError as error:
        raise _fault(text, "ParseAddr", "unable to parse IP", f'IP Address "{text[:_LONGEST]}"') from error
    shown = f'IP Address "{text[:_LONGEST]}" parse error during conversion from string:'
    if isinstance(found, IPv6Address) and found.scope_id is not None:
        raise Failure(f"{shown} IP address with zone value is not allowed")
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        raise Failure(f"{shown} IPv4-mapped IPv6 address is not allowed")
    return Ip(found)


def _is_ip(text: str) -> bool:
    return _reads(_ip, text)


def _cidr(text: str) -> Cidr:
    """Return the network of a text. Raises Failure."""
    host, slash, bits = text.rpartition("/")
    what = "network address"
    if not slash:
        raise _fault(text, "netip.ParsePrefix", "no '/'", what)
    try:
        found = _ip(host)
    except Failure as failure:
        if "not allowed" in str(failure):
            why = str(failure).rpartition(": ")[2].replace("IP address", "CIDR")
            raise Failure(f"{what} parse error during conversion from string: {why}") from failure
        why = f'ParseAddr("{host[:_LONGEST]}"): unable to parse IP'
        raise _fault(text, "netip.ParsePrefix", why, what) from failure
    if not _BITS.fullmatch(bits):
        raise _fault(text, "netip.ParsePrefix", f'bad bits after slash: "{bits[:_LONGEST]}"', what)
    if int(bits) > found.address.max_prefixlen:
        raise _fault(text, "netip.ParsePrefix", "prefix length out of range", what)
    return Cidr(found.address, int(bits))


def _is_cidr(text: str) -> bool:
    return _reads(_cidr, text)


def _reads(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except Failure:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_ip(text).address) == text


def _is_local_multicast(found: Ip) -> bool:
    if isinstance(found.address, IPv4Address):
        return found.address in _LOCAL_MULTICAST
    mask, wanted = _MULTICAST_SCOPE
    return int(found.address) >> 112 & mask == wanted


def _is_global_unicast(found: Ip) -> bool:
    address = found.address
    special = (
        address.is_unspecified, address.is_loopback, address.is_multicast, _is_local(found), address == _BROADCAST
    )  # fmt: skip
    return not any(special)


def _is_local(found: Ip) -> bool:
    return found.address.is_link_local


def _masked(found: Cidr) -> Cidr:
    spare = found.address.max_prefixlen - found.bits
    return Cidr(type(found.address)(int(found.address) >> spare << spare), found.bits)


def _contains(found: Cidr, address: IPv4Address | IPv6Address) -> bool:
    spare = found.address.max_prefixlen - found.bits
    return address.version == found.address.version and int(address) >> spare == int(found.address) >> spare


def _contains_network(found: Cidr, other: Cidr) -> bool:
    return found.bits <= other.bits and _contains(found, other.address)


def _string(found: Cidr) -> str:
    return f"{found.address}/{found.bits}"


def _cost(text: str) -> int:
    return 10 + len(text) // 4


FUNCTIONS: Final = (
    overload("ip(string) -> net.IP", _ip, _cost),
    overload("isIP(string) -> bool", _is_ip, _cost),
    overload("ip.isCanonical(string) -> bool", _is_canonical, _cost, namespaced=True),
    overload("net.IP.family() -> int", lambda found: found.address.version),
    overload("net.IP.isUnspecified() -> bool", lambda found: found.address.is_unspecified),
    overload("net.IP.isLoopback() -> bool", lambda found: found.address.is_loopback),
    overload("net.IP.isLinkLocalMulticast() -> bool", _is_local_multicast),
    overload("net.IP.isLinkLocalUnicast() -> bool", _is_local),
    overload("net.IP.isGlobalUnicast() -> bool", _is_global_unicast),
    overload("string(net.IP) -> string", lambda found: str(found.address)),
    overload("cidr(string) -> net.CIDR", _cidr, _cost),
    overload("isCIDR(string) -> bool", _is_cidr, _cost),
    overload("net.CIDR.containsIP(net.IP) -> bool", lambda found, ip: _contains(found, ip.address)),
    overload(
        "net.CIDR.containsIP(string) -> bool",
        lambda found, text: _contains(found, _ip(text).address),
        lambda _, text: _cost(text),
    ),
    overload("net.CIDR.containsCIDR(net.CIDR) -> bool", _contains_network),
    overload(
        "net.CIDR.containsCIDR(string) -> bool",
        lambda found, text: _contains_network(found, _cidr(text)),
        lambda _, text: _cost(text),
    ),
    overload("net.CIDR.ip() -> net.IP", lambda found: Ip(found.address)),
    overload("net.CIDR.masked() -> net.CIDR", _masked),
    overload("net.CIDR.prefixLength() -> int", lambda found: found.bits),
    overload("string(net.CIDR) -> string", _string),
)
